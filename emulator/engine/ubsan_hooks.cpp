// The functions that a kernel calls at a mistake when it is compiled with
// -fsanitize=alignment,bounds (plain) or -fsanitize=signed-integer-overflow,bounds (traced).
// UndefinedBehaviorSanitizer itself is not linked. Overflow in host code is ignored.

#include <cstdlib>

#include "emulator/engine/accesses.h"
#include "emulator/engine/names.h"
#include "emulator/engine/overflows.h"
#include "emulator/engine/threads.h"
#include "emulator/trace/lines.h"
#include "emulator/trace/report.h"

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
struct OverflowAt {
    Place at;
    const Type* type;
};

struct IndexOutOfBounds {
    Place at;
    const Type *array, *index;
};

int64_t number(const Type& type, uintptr_t bits) {
    const int unused = 64 - (1 << type.info / 2);
    return int64_t(uint64_t(bits) << unused) >> unused;
}

// In a program that ./run any.cu runs, integers may overflow on purpose: there they wrap.
void report_overflow(const OverflowAt& data, uintptr_t left, char sign, uintptr_t right) {
    using namespace emulator;
    if (!run.running || !in_kernel) return;
    const Type& type = *data.type;
    const Overflow overflow{data.at.file, data.at.line, number(type, left), number(type, right),
                            sign,         type.name,    1 << type.info / 2};
    if (printed_at_exit()) return overflows::note(overflow);
    const EmulatorsWork work;
    fail("overflow: at " + overflow.place() + " " + overflow.described() + " (" + block_name() +
         ", " + thread_name(current_thread) + "): compute a large index with size_t");
}

}  // namespace

extern "C" {

// An index that the type of its array does not have. In an array of several dimensions each of
// them has its own, and the element may lie within the whole array. g++ names the column of the
// last bracket.
void __ubsan_handle_out_of_bounds(const IndexOutOfBounds* out, uintptr_t index) {
    using namespace emulator;
    if (!run.running || !threads[current_thread].in_kernel) return;
    const EmulatorsWork work;
    const std::string place = out->at.name();
    const std::string element = element_ending_at(place, out->at.column);
    fail("out of bounds: " + place + ": index " + std::to_string(number(*out->index, index)) +
             " of " + out->array->name + (element.empty() ? "" : " in " + element) + " (" +
             block_name() + ", " + thread_name(current_thread) + ")",
         cudaErrorIllegalAddress);
}

[[noreturn]] void __ubsan_handle_type_mismatch_v1_abort(const TypeMismatch* mismatch,
                                                        uintptr_t address) {
    const int bytes = 1 << mismatch->log_alignment;
    emulator::refuse_access(emulator::current_thread,
                            "misaligned: " + mismatch->at.name() + " accesses", bytes,
                            emulator::past_multiple(address, bytes), cudaErrorMisalignedAddress);
    std::abort();  // only host code comes here
}

void __ubsan_handle_add_overflow(const OverflowAt* overflow, uintptr_t left, uintptr_t right) {
    report_overflow(*overflow, left, '+', right);
}
void __ubsan_handle_sub_overflow(const OverflowAt* overflow, uintptr_t left, uintptr_t right) {
    report_overflow(*overflow, left, '-', right);
}
void __ubsan_handle_mul_overflow(const OverflowAt* overflow, uintptr_t left, uintptr_t right) {
    report_overflow(*overflow, left, '*', right);
}
void __ubsan_handle_divrem_overflow(const OverflowAt* overflow, uintptr_t left, uintptr_t right) {
    report_overflow(*overflow, left, '/', right);
}
void __ubsan_handle_negate_overflow(const OverflowAt* overflow, uintptr_t value) {
    report_overflow(*overflow, 0, '-', value);
}

}  // extern "C"
