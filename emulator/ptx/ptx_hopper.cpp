// Instructions that Hopper has: mbarriers, bulk copies, wgmma, clusters.

#include "emulator/ptx/ptx_hopper.h"

#include "emulator/engine/run.h"
#include "emulator/engine/shared_window.h"
#include "emulator/include/common/ptx/hopper.cuh"

namespace emulator::ptx_hopper {
namespace {

using Thread = PtxThread;
using Instruction = PtxInstruction;

const PtxType kB32{'b', 4}, kB64{'b', 8};

}  // namespace

// ---- mbarriers ----------------------------------------------------------------------------------

void mbarrier_init(Thread& t, const Instruction& i) {
    emulator::mbarrier_init(t.mbarrier(i.arguments[0]), int(t.word(i.arguments[1])), t.file(),
                            t.line());
}

void mbarrier_inval(Thread& t, const Instruction& i) {
    emulator::mbarrier_inval(t.mbarrier(i.arguments[0]), t.file(), t.line());
}

// mbarrier.arrive{.expect_tx} {state, } [barrier]{, count or bytes}. The state is the phase.
void mbarrier_arrive(Thread& t, const Instruction& i) {
    const size_t first = i.arguments[0].kind == PtxArgument::address ? 0 : 1;
    uint64_t* const barrier = t.mbarrier(i.arguments[first]);
    const bool expects = i.has("expect_tx");
    const int number = i.arguments.size() > first + 1 ? int(t.word(i.arguments[first + 1]))
                       : expects                      ? 0
                                                      : 1;
    if (first && i.arguments[0].kind != PtxArgument::nothing)
        t.write(i.arguments[0], kB64, mbarrier_phase(barrier, t.file(), t.line()));
    mbarrier_arrive_at(barrier, expects ? 1 : number, expects ? number : 0, t.file(), t.line());
}

void mbarrier_arrive_drop(Thread& t, const Instruction& i) {
    const bool has_state = i.arguments[0].kind != PtxArgument::address;
    uint64_t* const barrier = t.mbarrier(i.arguments[has_state]);
    if (has_state) t.write(i.arguments[0], kB64, mbarrier_phase(barrier, t.file(), t.line()));
    emulator::mbarrier_arrive_drop(barrier, t.file(), t.line());
}

void mbarrier_expect_tx(Thread& t, const Instruction& i) {
    emulator::mbarrier_expect_tx(t.mbarrier(i.arguments[0]), int(t.word(i.arguments[1])), t.file(),
                                 t.line());
}

// mbarrier.try_wait and .test_wait {.parity} p, [barrier], the state or parity{, time}
void mbarrier_wait(Thread& t, const Instruction& i) {
    const auto phase = t.bits(i.arguments[2], i.has("parity") ? kB32 : kB64);
    const int parity = int(i.has("parity") ? phase : phase % 2);
    t.set_predicate(i.arguments[0], mbarrier_try_wait_parity(t.mbarrier(i.arguments[1]), parity,
                                                             t.file(), t.line()));
}

// ---- Bulk copies --------------------------------------------------------------------------------

// The mask of a multicast, or 0. number: that of its argument.
static unsigned ranks_of(Thread& t, const Instruction& i, size_t number) {
    if (!i.has("multicast::cluster")) return 0;
    if (number >= i.arguments.size()) t.refuse("a multicast needs its mask");
    const unsigned ranks = t.word(i.arguments[number]) & 0xffff;
    if (ranks == 0) t.refuse("the mask 0 has no rank");
    return ranks;
}

// .shared.global [to], [from], bytes, [barrier]{, mask}{, cache policy}; .global.shared [to],
// [from], bytes{, cache policy}
void cp_async_bulk(Thread& t, const Instruction& i) {
    if (i.modifiers.empty()) t.refuse("lacks a state space");
    if (i.modifiers[0] == "prefetch") return;
    const unsigned bytes = t.word(i.arguments[2]);
    if (i.modifiers[0] == "global")
        return emulator::cp_async_bulk(t.pointer(i.arguments[0], false),
                                       t.pointer(i.arguments[1], true), bytes, t.file(), t.line());
    if (i.modifiers.size() < 2 || i.modifiers[1] != "global")
        t.refuse("the emulator has no " + i.opcode);
    if (i.arguments.size() < 4) t.refuse("needs its mbarrier");
    emulator::cp_async_bulk(t.pointer(i.arguments[0], true), t.pointer(i.arguments[1], false),
                            bytes, t.mbarrier(i.arguments[3]), ranks_of(t, i, 4), t.file(),
                            t.line());
}

// .2d.shared.global [to], [map, {x, y}], [barrier]{, mask}{, cache policy}; .2d.global.shared
// [map, {x, y}], [from]{, cache policy}
void cp_async_bulk_tensor(Thread& t, const Instruction& i) {
    const int rank = i.modifiers[0][0] - '0';
    const bool is_store = i.modifiers.size() > 1 && i.modifiers[1] == "global";
    const PtxArgument& box = i.arguments[is_store ? 0 : 1];
    if (rank < 1 || rank > 5 || box.kind != PtxArgument::address || box.parts.size() != 2 ||
        box.parts[1].kind != PtxArgument::list || int(box.parts[1].parts.size()) != rank)
        t.refuse("the box is not [map, {x, y}], with as many coordinates as " + i.opcode + " has");
    const auto* const map = static_cast<const CUtensorMap*>(t.pointer(box, false));
    int at[5] = {};
    for (int d = 0; d < rank; ++d) at[d] = int(t.word(box.parts[1].parts[d]));
    if (is_store)
        return emulator::cp_async_bulk_tensor(map, at, rank, t.pointer(i.arguments[1], true),
                                              t.file(), t.line());
    if (i.arguments.size() < 3) t.refuse("needs its mbarrier");
    emulator::cp_async_bulk_tensor(t.pointer(i.arguments[0], true), map, at, rank,
                                   t.mbarrier(i.arguments[2]), ranks_of(t, i, 3), t.file(),
                                   t.line());
}

void cp_async_bulk_commit_group(Thread&, const Instruction&) {
    emulator::cp_async_bulk_commit_group();
}
void cp_async_bulk_wait_group(Thread& t, const Instruction& i) {
    emulator::cp_async_bulk_wait_group(t.word(i.arguments[0]), i.has("read"), t.file(), t.line());
}

// st.async [to], value, [barrier]: value is a register, or a list for .v2 and .v4.
void st_async(Thread& t, const Instruction& i) {
    const PtxArgument& value = i.arguments[1];
    const PtxType type = i.type();
    const size_t count = value.kind == PtxArgument::list ? value.parts.size() : 1;
    if (count * type.width() > 16) t.refuse("stores more than 16 bytes");
    char bytes[16];
    for (size_t n = 0; n < count; ++n) {
        const uint64_t bits =
            t.bits(value.kind == PtxArgument::list ? value.parts[n] : value, type);
        std::memcpy(bytes + n * type.width(), &bits, type.width());
    }
    st_async_at(t.pointer(i.arguments[0], true), bytes, int(count) * type.width(),
                t.mbarrier(i.arguments[2]), t.file(), t.line());
}

// ---- Clusters -----------------------------------------------------------------------------------

// Of an address in shared memory (a number, .shared::cluster), or of a pointer.
void mapa(Thread& t, const Instruction& i) {
    const bool is_number = i.has("shared::cluster");
    const uint64_t bits = t.bits(i.arguments[1], i.type());
    void* const mine = is_number ? from_shared(bits) : reinterpret_cast<void*>(bits);
    if (!mine) t.refuse("that is not a shared-memory address");
    void* const there = emulator::mapa(mine, int(t.word(i.arguments[2])), t.file(), t.line());
    t.write(i.arguments[0], i.type(),
            is_number ? to_shared(there) : reinterpret_cast<uintptr_t>(there));
}

void getctarank(Thread& t, const Instruction& i) {
    const uint64_t bits = t.bits(i.arguments[1], i.type());
    const uint32_t number =
        i.has("shared::cluster") ? uint32_t(bits) : to_shared(reinterpret_cast<void*>(bits));
    t.write(i.arguments[0], kB32,
            number >> 24 ? (number >> 24) - 1 : unsigned(get_sreg_cluster_ctarank()));
}

void cluster_arrive(Thread& t, const Instruction& i) {
    barrier_cluster_arrive(i.has("relaxed"), t.file(), t.line());
}
void cluster_wait(Thread& t, const Instruction&) { barrier_cluster_wait(t.file(), t.line()); }

// ---- wgmma --------------------------------------------------------------------------------------

void setmaxnreg(Thread& t, const Instruction& i) {
    const int count = int(t.word(i.arguments[0])), registers = i.has("dec") ? -count : count;
    collective(set_max_registers, &registers, t.file(), t.line());
}

void wgmma_fence(Thread& t, const Instruction&) {
    collective(emulator::wgmma_fence, nullptr, t.file(), t.line());
}
void wgmma_commit_group(Thread& t, const Instruction&) {
    collective(emulator::wgmma_commit_group, nullptr, t.file(), t.line());
}
void wgmma_wait_group(Thread& t, const Instruction& i) {
    const int pending = int(t.word(i.arguments[0]));
    wgmma_wait_for_warps(pending, t.file(), t.line());
    collective(emulator::wgmma_wait_group, &pending, t.file(), t.line());
}

// wgmma.mma_async.sync.aligned.m64nNk16.f32.T.T d, a, b, scale-d, scale-a, scale-b, tnsp-a, tnsp-b;
// with A in registers there is no tnsp-a.
void wgmma(Thread& t, const Instruction& i) {
    if (i.types.size() != 3 || i.types[0].kind != 'f' || i.types[0].bytes != 4 ||
        i.types[1].bytes != 2 || i.types[2].kind != i.types[1].kind)
        t.refuse("the emulator has sums in f32, of f16 or bf16: not " + i.opcode);
    const PtxArgument &d = i.arguments[0], &a = i.arguments[1];
    int n = 0;
    for (const std::string& modifier : i.modifiers)
        if (modifier.compare(0, 4, "m64n") == 0) n = std::atoi(&modifier[4]);
    if (d.kind != PtxArgument::list || int(d.parts.size()) * 2 != n)
        t.refuse("D is not a list of " + std::to_string(n / 2) + " registers");
    const auto registers = static_cast<float*>(t.contiguous(d, sizeof(float)));
    if (!registers) t.refuse("the emulator requires that D's registers are one array, in order");
    uint32_t words[4];
    const bool in_registers = a.kind == PtxArgument::list;
    if (in_registers && a.parts.size() != 4) t.refuse("A is not a list of 4 registers");
    for (int word = 0; in_registers && word < 4; ++word) words[word] = t.word(a.parts[word]);
    const auto option = [&](size_t number, int otherwise) {
        return number < i.arguments.size() ? int(t.integer(i.arguments[number], {'s', 4}))
                                           : otherwise;
    };
    const PtxArgument& scale_d = i.arguments[3];
    const WgmmaCall call{registers,
                         n / 2,
                         in_registers ? 0 : t.bits(a, kB64),
                         t.bits(i.arguments[2], kB64),
                         i.types[1].kind == 'f',
                         !in_registers && option(6, 0) != 0,
                         option(in_registers ? 6 : 7, 0) != 0,  // B's alone
                         t.is_predicate(scale_d) ? t.holds(scale_d) : t.word(scale_d) != 0,
                         option(4, 1) * option(5, 1) < 0,
                         in_registers ? words : nullptr};
    collective(emulator::wgmma, &call, t.file(), t.line());
}

}  // namespace emulator::ptx_hopper
