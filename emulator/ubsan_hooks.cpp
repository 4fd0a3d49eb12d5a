// What -fsanitize=alignment calls before an untraced kernel uses a misaligned address.
// UndefinedBehaviorSanitizer itself is not linked.

#include <cstdlib>

#include "emulator/accesses.h"
#include "emulator/lines.h"
#include "emulator/scheduler.h"

struct TypeMismatch {  // as g++ and clang lay it out
    const char* file;
    uint32_t line, column;
    const void* type;
    unsigned char log_alignment, kind;
};

extern "C" [[noreturn]] void __ubsan_handle_type_mismatch_v1_abort(const TypeMismatch* at,
                                                                   uintptr_t address) {
    const int bytes = 1 << at->log_alignment;
    emulator::refuse_access(emulator::current_thread,
                            "misaligned: " + emulator::short_path(at->file) + ":" +
                                std::to_string(at->line) + " accesses",
                            bytes, emulator::past_multiple(address, bytes),
                            cudaErrorMisalignedAddress);
    std::abort();  // the host's code did it
}
