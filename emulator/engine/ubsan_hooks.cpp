// UBSan's handlers, which code calls on undefined behavior if it is compiled with
// -fsanitize=alignment,bounds (plain) or -fsanitize=signed-integer-overflow,bounds (traced). UBSan
// itself is not linked. Overflow in host code is ignored.

#include <cstdlib>

#include "emulator/engine/accesses.h"
#include "emulator/engine/names.h"
#include "emulator/engine/overflows.h"
#include "emulator/engine/threads.h"
#include "emulator/trace/lines.h"
#include "emulator/trace/report.h"

namespace {

// The handlers' arguments, under UBSan's names, as g++ and clang lay them out.
struct SourceLocation {
    const char* file;
    uint32_t line, column;
    std::string name() const { return emulator::short_place(file, line); }
};
struct TypeMismatchData {
    SourceLocation at;
    const void* type;
    unsigned char log_alignment, kind;
};
struct TypeDescriptor {
    uint16_t kind,
        info;  // of an integer: bit 0: it is signed; above: the binary logarithm of its bits
    char name[1];  // 'int'
};
struct OverflowData {
    SourceLocation at;
    const TypeDescriptor* type;
};

struct OutOfBoundsData {
    SourceLocation at;
    const TypeDescriptor *array, *index;
};

// The value of an integer, read as signed even if its type is unsigned: threadIdx.x - 1 is reported
// as index -1 and not 4294967295.
int64_t signed_value(const TypeDescriptor& type, uintptr_t bits) {
    const int unused = 64 - (1 << type.info / 2);
    return int64_t(uint64_t(bits) << unused) >> unused;
}

// A program that ./run any.cu runs may rely on wraparound: there an overflow is only noted.
void report_overflow(const OverflowData& data, uintptr_t left, char sign, uintptr_t right) {
    using namespace emulator;
    if (!run.running || !in_kernel) return;
    const TypeDescriptor& type = *data.type;
    const Overflow overflow{
        data.at.file, data.at.line, signed_value(type, left), signed_value(type, right),
        sign,         type.name,    1 << type.info / 2};
    if (printed_at_exit()) return overflows::note(overflow);
    const EmulatorsWork work;
    fail("overflow: at " + overflow.place() + " " + overflow.described() + " (" + block_name() +
         ", " + thread_name(current_thread) + "): compute a large index with size_t");
}

}  // namespace

extern "C" {

// An index that the type of its array does not have. Each dimension of an array is checked by
// itself, so the element may still lie within the whole array. g++ names the column of the last
// bracket.
void __ubsan_handle_out_of_bounds(const OutOfBoundsData* out, uintptr_t index) {
    using namespace emulator;
    if (!run.running || !threads[current_thread].in_kernel) return;
    const EmulatorsWork work;
    const std::string place = out->at.name();
    const std::string element = element_ending_at(place, out->at.column);
    fail("out of bounds: " + place + ": index " + std::to_string(signed_value(*out->index, index)) +
             " of " + out->array->name + (element.empty() ? "" : " in " + element) + " (" +
             block_name() + ", " + thread_name(current_thread) + ")",
         cudaErrorIllegalAddress);
}

[[noreturn]] void __ubsan_handle_type_mismatch_v1_abort(const TypeMismatchData* mismatch,
                                                        uintptr_t address) {
    const int bytes = 1 << mismatch->log_alignment;
    emulator::refuse_access(emulator::current_thread,
                            "misaligned: " + mismatch->at.name() + " accesses", bytes,
                            emulator::past_multiple(address, bytes), cudaErrorMisalignedAddress);
    std::abort();  // only host code comes here
}

void __ubsan_handle_add_overflow(const OverflowData* overflow, uintptr_t left, uintptr_t right) {
    report_overflow(*overflow, left, '+', right);
}
void __ubsan_handle_sub_overflow(const OverflowData* overflow, uintptr_t left, uintptr_t right) {
    report_overflow(*overflow, left, '-', right);
}
void __ubsan_handle_mul_overflow(const OverflowData* overflow, uintptr_t left, uintptr_t right) {
    report_overflow(*overflow, left, '*', right);
}
void __ubsan_handle_divrem_overflow(const OverflowData* overflow, uintptr_t left, uintptr_t right) {
    report_overflow(*overflow, left, '/', right);
}
void __ubsan_handle_negate_overflow(const OverflowData* overflow, uintptr_t value) {
    report_overflow(*overflow, 0, '-', value);
}

}  // extern "C"
