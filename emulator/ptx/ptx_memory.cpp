// Instructions that access memory, or order accesses. The trace sees an access at the line of the
// asm statement.

#include "emulator/ptx/ptx_memory.h"

#include <cmath>

#include "emulator/engine/accesses.h"
#include "emulator/engine/names.h"
#include "emulator/engine/shared_window.h"
#include "emulator/engine/threads.h"
#include "emulator/include/common/ptx/ptx.cuh"

namespace emulator::ptx_memory {
namespace {

using Thread = PtxThread;
using Instruction = PtxInstruction;

bool in_shared(const Instruction& i) {
    return i.has("shared") || i.has("shared::cta") || i.has("shared::cluster");
}

// Ordered by more than its thread's own program: the trace takes it for an atomic.
bool is_strong(const Instruction& i) {
    for (const char* order : {"relaxed", "acquire", "release", "acq_rel"})
        if (i.has(order)) return true;
    return false;
}

void trace(Thread& t, const Instruction& i, void* address, int bytes, bool store) {
    if (is_strong(i)) {
        if (i.has("release") || i.has("acq_rel")) note_fence();
        return trace_atomic(address, bytes, t.statement.pc);
    }
    if (!traced) {
        if (reinterpret_cast<uintptr_t>(address) % bytes == 0) return;
        refuse_access(current_thread,
                      "misaligned: " + site_name({t.file(), t.line(), 0}) + " accesses", bytes,
                      past_multiple(reinterpret_cast<uintptr_t>(address), bytes),
                      cudaErrorMisalignedAddress);
    }
    accesses::note_compiled(address, bytes, store ? trace::kWrite : trace::kRead, t.statement.pc,
                            true);
    in_kernel = false;  // the emulator's own code goes on
}

// The registers of ld and st: one, or a list for .v2 and .v4.
std::vector<const PtxArgument*> registers(Thread& t, const Instruction& i, const PtxArgument& of) {
    const size_t count = i.has("v2") ? 2 : i.has("v4") ? 4 : 1;
    std::vector<const PtxArgument*> all;
    if (of.kind == PtxArgument::list)
        for (const PtxArgument& part : of.parts) all.push_back(&part);
    else all.push_back(&of);
    if (all.size() != count) t.refuse("the operand is not a list of " + std::to_string(count));
    if (i.type().width() * count > 16) t.refuse("accesses more than 16 bytes");
    return all;
}

uint64_t result_of(Thread& t, const Instruction& i, uint64_t old, uint64_t b, uint64_t c) {
    const PtxType type = i.type(), element{type.kind, type.bytes};
    if (type.is_floating() && !i.has("exch") && !i.has("cas")) {
        uint64_t result = 0;
        for (int part = 0; part < type.count; ++part) {
            const int shift = 8 * type.bytes * part;
            const double x = double_of(old >> shift, element), y = double_of(b >> shift, element);
            const double z = i.has("add")   ? x + y
                             : i.has("min") ? std::fmin(x, y)
                                            : std::fmax(x, y);
            result |= bits_of_double(z, element) << shift;
        }
        return result;
    }
    const int unused = 64 - 8 * type.width();
    const bool is_less = type.kind == 's' ? int64_t(b << unused) < int64_t(old << unused) : b < old;
    if (i.has("add")) return old + b;
    if (i.has("min")) return is_less ? b : old;
    if (i.has("max")) return is_less ? old : b;
    if (i.has("and")) return old & b;
    if (i.has("or")) return old | b;
    if (i.has("xor")) return old ^ b;
    if (i.has("exch")) return b;
    if (i.has("cas")) return old == b ? c : old;
    if (i.has("inc")) return old >= b ? 0 : old + 1;
    if (i.has("dec")) return old == 0 || old > b ? b : old - 1;
    t.refuse("lacks an operation");
}

// Returns what was there.
uint64_t update(Thread& t, const Instruction& i, char* address, const PtxArgument& b, uint64_t c) {
    const int bytes = i.type().width();
    if (reinterpret_cast<uintptr_t>(address) % bytes)
        t.refuse("the address is not a multiple of " + std::to_string(bytes));
    if (i.has("release") || i.has("acq_rel")) note_fence();
    trace_atomic(address, bytes, t.statement.pc);
    uint64_t old = 0;
    std::memcpy(&old, address, bytes);
    const uint64_t now = result_of(t, i, old, t.bits(b, i.type()), c);
    std::memcpy(address, &now, bytes);
    return old;
}

}  // namespace

void ld(Thread& t, const Instruction& i) {
    const auto to = registers(t, i, i.arguments[0]);
    const PtxType type = i.type();
    char* const from = static_cast<char*>(t.pointer(i.arguments[1], in_shared(i)));
    trace(t, i, from, int(to.size()) * type.width(), false);
    for (size_t n = 0; n < to.size(); ++n) {
        uint64_t bits = 0;
        std::memcpy(&bits, from + n * type.width(), type.width());
        t.write(*to[n], type, bits);
    }
}

void st(Thread& t, const Instruction& i) {
    const auto from = registers(t, i, i.arguments[1]);
    const PtxType type = i.type();
    char* const to = static_cast<char*>(t.pointer(i.arguments[0], in_shared(i)));
    trace(t, i, to, int(from.size()) * type.width(), true);
    for (size_t n = 0; n < from.size(); ++n) {
        const uint64_t bits = t.bits(*from[n], type);
        std::memcpy(to + n * type.width(), &bits, type.width());
    }
}

void atom(Thread& t, const Instruction& i) {
    char* const address = static_cast<char*>(t.pointer(i.arguments[1], in_shared(i)));
    const uint64_t c = i.has("cas") ? t.bits(i.arguments[3], i.type()) : 0;
    t.write(i.arguments[0], i.type(), update(t, i, address, i.arguments[2], c));
}

void red(Thread& t, const Instruction& i) {
    char* const address = static_cast<char*>(t.pointer(i.arguments[0], in_shared(i)));
    const auto from = registers(t, i, i.arguments[1]);
    const int bytes = i.type().width() * int(from.size());
    if (reinterpret_cast<uintptr_t>(address) % bytes)
        t.refuse("the address is not a multiple of " + std::to_string(bytes));
    for (size_t n = 0; n < from.size(); ++n)
        update(t, i, address + n * i.type().width(), *from[n], 0);
}

void nothing(Thread&, const Instruction&) {}
void zero(Thread& t, const Instruction& i) { t.write(i.arguments[0], {'b', 8}, 0); }

// cvta.to.shared makes a number of a pointer, cvta.shared a pointer of a number.
void cvta(Thread& t, const Instruction& i) {
    uint64_t bits = t.bits(i.arguments[1], {'u', 8});
    if (in_shared(i) && i.has("to")) bits = to_shared(reinterpret_cast<void*>(bits));
    else if (in_shared(i)) bits = reinterpret_cast<uintptr_t>(from_shared(bits));
    t.write(i.arguments[0], i.type(), bits);
}

void isspacep(Thread& t, const Instruction& i) {
    const void* const pointer = reinterpret_cast<void*>(t.bits(i.arguments[1], {'u', 8}));
    const bool shared = to_shared(pointer) != kNoSharedAddress;
    t.set_predicate(i.arguments[0], in_shared(i) ? shared : i.has("global") && !shared);
}

void fence(Thread&, const Instruction& i) {
    if (i.has("mbarrier_init")) fence_mbarrier_init();
    else if (i.has("proxy")) i.has("async") ? fence_proxy_async() : void();
    else if (!i.has("cta")) note_fence();
}
void membar(Thread&, const Instruction& i) {
    if (!i.has("cta")) note_fence();
}
void griddepcontrol(Thread& t, const Instruction& i) {
    (i.has("wait") ? cudaGridDependencySynchronize : cudaTriggerProgrammaticLaunchCompletion)(
        t.file(), t.line());
}

// cp.async.ca [to], [from], bytes{, bytes to read, or a predicate: read nothing}{, cache policy}
void cp_async(Thread& t, const Instruction& i) {
    void* const to = t.pointer(i.arguments[0], true);
    const void* const from = t.pointer(i.arguments[1], false);
    const int bytes = int(t.word(i.arguments[2]));
    if (i.has("cg") ? bytes != 16 : bytes != 4 && bytes != 8 && bytes != 16)
        t.refuse(std::to_string(bytes) + " bytes, not " + (i.has("cg") ? "16" : "4, 8 or 16"));
    int valid = bytes;
    if (i.arguments.size() > 3u + i.has("L2::cache_hint")) {
        const PtxArgument& last = i.arguments[3];
        if (t.is_predicate(last)) valid = t.holds(last) ? 0 : bytes;
        else valid = int(t.word(last));
    }
    check_cp_async(to, from, bytes, valid, t.file(), t.line());
    void* const kept =
        async_copy(to, from, bytes, bytes - valid, t.statement.pc, t.file(), t.line());
    std::memcpy(kept, from, valid);
    std::memset(to, 0xff, bytes);
}
void cp_async_commit_group(Thread&, const Instruction&) { commit_copies(); }
void cp_async_wait_group(Thread& t, const Instruction& i) {
    wait_for_copies(t.word(i.arguments[0]), t.file(), t.line());
}
void cp_async_wait_all(Thread& t, const Instruction&) {
    commit_copies();
    wait_for_copies(0, t.file(), t.line());
}

}  // namespace emulator::ptx_memory
