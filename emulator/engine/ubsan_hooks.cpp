// The functions that a kernel calls at a mistake when it is compiled with
// -fsanitize=alignment,object-size (plain) or -fsanitize=signed-integer-overflow (traced).
// UndefinedBehaviorSanitizer itself is not linked. Overflow in host code is ignored.

#include <cstdlib>

#include "emulator/engine/accesses.h"
#include "emulator/engine/names.h"
#include "emulator/engine/stacks.h"
#include "emulator/engine/threads.h"
#include "emulator/trace/lines.h"

namespace {

// The arguments of these functions, as g++ and clang lay them out.
struct Place {
    const char* file;
    uint32_t line, column;
    std::string name() const { return emulator::short_path(file) + ":" + std::to_string(line); }
};
struct TypeMismatch {
    Place at;
    const void* type;
    unsigned char log_alignment, kind;
};
struct Type {
    uint16_t kind,
        info;  // of an integer: 1 + 2 * the binary logarithm of its bits, if it is signed
    char name[1];  // 'int'
};
struct Overflow {
    Place at;
    const Type* type;
};

void report_overflow(const Overflow& overflow, uintptr_t left, const char* sign, uintptr_t right) {
    if (!emulator::run.running || !emulator::in_kernel) return;
    const emulator::EmulatorsWork work;
    const int unused = 64 - (1 << overflow.type->info / 2);
    const auto number = [&](uintptr_t bits) {
        return std::to_string(int64_t(uint64_t(bits) << unused) >> unused);
    };
    emulator::fail("overflow: at " + overflow.at.name() + " " + number(left) + sign +
                   number(right) + " does not fit in " + overflow.type->name + " (" +
                   emulator::block_name() + ", " + emulator::thread_name(emulator::current_thread) +
                   "): compute a large index with size_t");
}

}  // namespace

extern "C" {

[[noreturn]] void __ubsan_handle_type_mismatch_v1_abort(const TypeMismatch* mismatch,
                                                        uintptr_t address) {
    const int bytes = 1 << mismatch->log_alignment;
    emulator::refuse_access(emulator::current_thread,
                            "misaligned: " + mismatch->at.name() + " accesses", bytes,
                            emulator::past_multiple(address, bytes), cudaErrorMisalignedAddress);
    std::abort();  // only host code comes here
}

// An access past an array whose size the compiler knows. Only a thread's local arrays are reported
// here: the trace checks accesses to shared arrays and device memory, and says more about them.
void __ubsan_handle_type_mismatch_v1(const TypeMismatch* mismatch, uintptr_t address) {
    using namespace emulator;
    if (!run.running || stack_owner(address) != current_thread) return;
    const EmulatorsWork work;
    fail("out of bounds: " + mismatch->at.name() + " goes past the end of a local array (" +
             block_name() + ", " + thread_name(current_thread) + ")",
         cudaErrorIllegalAddress);
}

void __ubsan_handle_add_overflow(const Overflow* overflow, uintptr_t left, uintptr_t right) {
    report_overflow(*overflow, left, " + ", right);
}
void __ubsan_handle_sub_overflow(const Overflow* overflow, uintptr_t left, uintptr_t right) {
    report_overflow(*overflow, left, " - ", right);
}
void __ubsan_handle_mul_overflow(const Overflow* overflow, uintptr_t left, uintptr_t right) {
    report_overflow(*overflow, left, " * ", right);
}
void __ubsan_handle_divrem_overflow(const Overflow* overflow, uintptr_t left, uintptr_t right) {
    report_overflow(*overflow, left, " / ", right);
}
void __ubsan_handle_negate_overflow(const Overflow* overflow, uintptr_t value) {
    report_overflow(*overflow, 0, " - ", value);
}

}  // extern "C"
