// Removes calls from the program's code, and brings them back.

#include "emulator/engine/removed_calls.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <vector>

#if defined(__x86_64__) && __has_include(<sys/single_threaded.h>)
#include <sys/single_threaded.h>

namespace emulator::removed_calls {
namespace {

// A call has five bytes: 0xe8, and the distance. "jmp +3" in place of its first two bytes jumps over
// the other three. One store of two bytes therefore removes a call or brings it back, even if
// another thread of the host has begun and executes it.
using TwoBytes [[gnu::aligned(1), gnu::may_alias]] = volatile uint16_t;
constexpr int kBytes = 5;
constexpr uint8_t kCall = 0xe8;
constexpr uint16_t kJump = 0x03eb;

struct Removed {
    TwoBytes* at;
    uint16_t code;
};
std::vector<Removed>& removed = *new std::vector<Removed>;

bool make_writable(uintptr_t address) {
    const auto page = uintptr_t(sysconf(_SC_PAGE_SIZE));
    const uintptr_t begin = address / page * page;
    return mprotect(reinterpret_cast<void*>(begin), address + sizeof kJump - begin,
                    PROT_READ | PROT_WRITE | PROT_EXEC) == 0;
}

}  // namespace

void note_idle(const void* return_address) {
    static uint8_t calls[4096];  // by the last bits of the address
    if (!__libc_single_threaded) return;
    const uintptr_t begin = reinterpret_cast<uintptr_t>(return_address) - kBytes;
    if (++calls[begin % sizeof calls]) return;
    if (*reinterpret_cast<const uint8_t*>(begin) != kCall) return;
    if (!make_writable(begin)) return;  // some systems forbid it: the program is then slower
    auto* const at = reinterpret_cast<TwoBytes*>(begin);
    removed.push_back({at, *at});
    *at = kJump;
}

void restore() {
    for (const Removed& call : removed) *call.at = call.code;
    removed.clear();
}

}  // namespace emulator::removed_calls
#else  // the calls stay

void emulator::removed_calls::note_idle(const void*) {}
void emulator::removed_calls::restore() {}

#endif
