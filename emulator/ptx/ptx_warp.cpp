// Instructions of a warp, barriers of a block, and special registers.

#include "emulator/ptx/ptx_warp.h"

#include <algorithm>

#include "emulator/engine/threads.h"
#include "emulator/include/common/ptx/hopper.cuh"

namespace emulator::ptx_warp {
namespace {

using Thread = PtxThread;
using Instruction = PtxInstruction;

const PtxType kB32{'b', 4};

// What 8x8 matrices of an ldmatrix or stmatrix there are: .x1, .x2 or .x4.
size_t matrices(Thread& t, const Instruction& i, const PtxArgument& list) {
    const size_t count = i.has("x4") ? 4 : i.has("x2") ? 2 : 1;
    if (list.kind != PtxArgument::list || list.parts.size() != count)
        t.refuse("the registers are not a list of " + std::to_string(count));
    return count;
}

struct StmatrixCall {  // of a lane
    void* row;
    const uint32_t* registers;
};
template <int count, bool transposed>
void stmatrix_of_warp(const WarpCall& call) {
    require(90, "stmatrix", call.file, call.line);
    const auto of = [&](int lane) {
        return static_cast<const StmatrixCall*>(call.arguments[lane]);
    };
    for (int lane = 0; lane < 8 * count; ++lane) {
        char* const row = static_cast<char*>(of(lane)->row);
        const auto refuse = [&](const char* what) {
            misuse("stmatrix: the row of lane " + std::to_string(lane) + what, call.file,
                   call.line);
        };
        if (reinterpret_cast<uintptr_t>(row) % 16) refuse(" is not aligned to 16 bytes");
        if (!is_shared(row)) refuse(" is not in shared memory");
        trace_lane(lane, row, 16, true, call.pc);
        for (int column = 0; column < 8; ++column) {
            const int matrix = lane / 8, line = transposed ? column : lane % 8,
                      at = transposed ? lane % 8 : column;
            const uint32_t pair = of(line * 4 + at / 2)->registers[matrix];
            const auto element = uint16_t(pair >> 16 * (at % 2));
            std::memcpy(row + 2 * column, &element, 2);
        }
    }
}

// ---- mma ----------------------------------------------------------------------------------------

struct MmaKind {
    const char* shape;
    char kind;  // and bytes: of A's and B's type
    int bytes;
    const MmaShape* is;
};
const MmaKind kMmaKinds[] = {
    {"m16n8k16", 'f', 2, &kM16n8k16},       {"m16n8k16", 'n', 2, &kM16n8k16},
    {"m16n8k8", 'f', 2, &kM16n8k8},         {"m16n8k8", 'n', 2, &kM16n8k8},
    {"m16n8k8", 't', 4, &kM16n8k8_tf32},    {"m16n8k4", 't', 4, &kM16n8k4_tf32},
    {"m16n8k16", 's', 1, &kM16n8k16_bytes}, {"m16n8k16", 'u', 1, &kM16n8k16_bytes},
    {"m16n8k32", 's', 1, &kM16n8k32_bytes}, {"m16n8k32", 'u', 1, &kM16n8k32_bytes},
    {"m8n8k16", 's', 1, &kM8n8k16_bytes},   {"m8n8k16", 'u', 1, &kM8n8k16_bytes},
    {"m8n8k4", 'f', 8, &kM8n8k4_double},
};

const MmaShape& shape_of(Thread& t, const Instruction& i) {
    if (i.prepared) return *static_cast<const MmaShape*>(i.prepared);
    if (i.types.size() != 4) t.refuse("needs the types of D, A, B and C");
    const PtxType &d = i.types[0], &a = i.types[1], &b = i.types[2], &c = i.types[3];
    for (const MmaKind& each : kMmaKinds)
        if (i.modifiers.size() > 2 && i.has(each.shape) && each.kind == a.kind &&
            each.bytes == a.bytes && b.bytes == a.bytes && d.bytes == c.bytes && d.kind == c.kind &&
            i.has("row") && i.has("col"))
            i.prepared = each.is;
    if (!i.prepared) t.refuse("the emulator has no " + i.opcode);
    return *static_cast<const MmaShape*>(i.prepared);
}

// The elements in a list of registers: 32 bits of A and B, and of D as its type is.
template <class Number>
void unpack(Thread& t, const PtxArgument& list, const PtxType& type, int count, Number* to) {
    const int width = std::max(4, type.bytes), each = width / type.bytes;
    if (list.kind != PtxArgument::list || int(list.parts.size()) != count / each)
        t.refuse("an operand is not a list of " + std::to_string(count / each) + " registers");
    for (int n = 0; n < count; ++n) {
        const uint64_t bits =
            t.bits(list.parts[n / each], {'b', width}) >> 8 * type.bytes * (n % each);
        if (type.kind == 's' && type.bytes == 1) to[n] = Number(int(int8_t(bits)));
        else if (type.kind == 'u' && type.bytes == 1) to[n] = Number(uint8_t(bits));
        else if (!type.is_floating()) to[n] = Number(bits);
        // An operand that was not converted to tf32 loses its last 13 bits.
        else to[n] = Number(double_of(type.kind == 't' ? bits & ~uint64_t(0x1fff) : bits, type));
    }
}

template <class Number>
void multiply(Thread& t, const Instruction& i) {
    const MmaShape& shape = shape_of(t, i);
    const PtxArgument &d = i.arguments[0], &a = i.arguments[1], &b = i.arguments[2];
    const char kind = i.types[1].kind;
    const auto multiplied = kind == 'f'   ? tensor_core::Type::f16
                            : kind == 't' ? tensor_core::Type::tf32
                                          : tensor_core::Type::bf16;
    MmaCall<Number> call{
        &shape, t.contiguous(a, 4), t.contiguous(b, 4), multiplied, i.types[0].bytes == 2, {}, {},
        {}};
    unpack(t, a, i.types[1], shape.m * shape.k / 32, call.a);
    unpack(t, b, i.types[2], shape.k * shape.n / 32, call.b);
    unpack(t, i.arguments[3], i.types[3], shape.m * shape.n / 32, call.d);
    collective(emulator::mma<Number>, &call, t.file(), t.line());
    const PtxType type = i.types[0];
    const int width = std::max(4, type.bytes), each = width / type.bytes;
    for (size_t r = 0; r < d.parts.size(); ++r) {
        uint64_t bits = 0;
        for (int n = 0; n < each; ++n) {
            const Number sum = call.d[r * each + n];
            bits |= (type.is_floating() ? bits_of_double(double(sum), type) : uint64_t(sum))
                    << 8 * type.bytes * n;
        }
        t.write(d.parts[r], {'b', width}, bits);
    }
}

}  // namespace

// shfl.sync.mode.b32 d[|p], a, b, c, mask. c has the width: 0x1f less the segment's lanes' bits.
void shfl(Thread& t, const Instruction& i) {
    const PtxArgument& to = i.arguments[0];
    const uint32_t value = t.word(i.arguments[1]), b = t.word(i.arguments[2]),
                   c = t.word(i.arguments[3]);
    const unsigned mask = t.word(i.arguments[4]);
    const int own = lane(), segment = int(c >> 8 & 0x1f), clamp = int(c & 0x1f), by = int(b & 0x1f);
    const int least = own & segment, most = (own & segment) | (clamp & ~segment);
    const int source = i.has("up")     ? own - by
                       : i.has("down") ? own + by
                       : i.has("bfly") ? own ^ by
                                       : least | (by & ~segment);
    const bool inside = i.has("up") ? source >= most : source <= most;
    const uint64_t got =
        exchange(mask, value, inside ? source : own, "shfl.sync", t.file(), t.line());
    const bool is_pair = to.kind == PtxArgument::pair;
    t.write(is_pair ? to.parts[0] : to, kB32, uint32_t(got));
    if (is_pair) t.set_predicate(to.parts[1], inside);
}

void vote(Thread& t, const Instruction& i) {
    const unsigned mask = t.word(i.arguments[2]);
    const bool mine = t.holds(i.arguments[1]);
    if (i.has("uni")) t.refuse("the emulator has no vote.uni");
    const bool all = i.has("all");
    const auto lanes =
        unsigned(exchange(mask, all ? !mine : mine, kBallot, "vote.sync", t.file(), t.line()));
    if (i.has("ballot")) t.write(i.arguments[0], kB32, lanes);
    else t.set_predicate(i.arguments[0], all ? lanes == 0 : lanes != 0);
}

void match(Thread& t, const Instruction& i) {
    const unsigned mask = t.word(i.arguments[2]);
    const PtxArgument& to = i.arguments[0];
    const auto same = unsigned(
        exchange(mask, t.bits(i.arguments[1], i.type()), kMatch, "match.sync", t.file(), t.line()));
    if (i.has("any")) return t.write(to, kB32, same);
    const auto all = unsigned(exchange(mask, 1, kBallot, "match.sync", t.file(), t.line()));
    const bool is_pair = to.kind == PtxArgument::pair;
    t.write(is_pair ? to.parts[0] : to, kB32, same == all ? same : 0);
    if (is_pair) t.set_predicate(to.parts[1], same == all);
}

void redux(Thread& t, const Instruction& i) {
    const unsigned mask = t.word(i.arguments[2]);
    const PtxType type = i.type();
    const int64_t mine = t.integer(i.arguments[1], type);
    const auto operation = [&](int64_t a, int64_t b) {
        return i.has("add")   ? a + b
               : i.has("min") ? std::min(a, b)
               : i.has("max") ? std::max(a, b)
               : i.has("and") ? a & b
               : i.has("or")  ? a | b
                              : a ^ b;
    };
    t.write(i.arguments[0], type,
            uint64_t(reduce(mask, mine, operation, "redux.sync", t.file(), t.line())));
}

void activemask(Thread& t, const Instruction& i) {
    t.write(i.arguments[0], kB32, active_lanes(t.file(), t.line()));
}

void elect(Thread& t, const Instruction& i) {
    const PtxArgument& to = i.arguments[0];
    if (to.kind != PtxArgument::pair) t.refuse("its result is a pair: _|p");
    const int elected = elected_lane(t.word(i.arguments[1]), t.file(), t.line());
    t.write(to.parts[0], kB32, uint64_t(elected));
    t.set_predicate(to.parts[1], lane() == elected);
}

void ldmatrix(Thread& t, const Instruction& i) {
    const PtxArgument& to = i.arguments[0];
    const size_t count = matrices(t, i, to);
    uint32_t registers[4];
    void* const in_place = t.contiguous(to, 4);  // the record follows registers from here to mma
    // The lanes beyond those that pass a row may pass anything.
    void* const row = lane() < 8 * int(count) ? t.pointer(i.arguments[1], true) : nullptr;
    const LdmatrixCall call{row, in_place ? in_place : registers};
    const auto run = i.has("trans") ? count == 4   ? emulator::ldmatrix<4, true>
                                      : count == 2 ? emulator::ldmatrix<2, true>
                                                   : emulator::ldmatrix<1, true>
                     : count == 4 ? emulator::ldmatrix<4, false>
                     : count == 2   ? emulator::ldmatrix<2, false>
                                    : emulator::ldmatrix<1, false>;
    collective(run, &call, t.file(), t.line());
    for (size_t n = 0; !in_place && n < count; ++n) t.write(to.parts[n], kB32, registers[n]);
}

void stmatrix(Thread& t, const Instruction& i) {
    const PtxArgument& from = i.arguments[1];
    const size_t count = matrices(t, i, from);
    uint32_t registers[4];
    for (size_t n = 0; n < count; ++n) registers[n] = t.word(from.parts[n]);
    const StmatrixCall call{t.pointer(i.arguments[0], true), registers};
    const auto run = i.has("trans") ? count == 4   ? stmatrix_of_warp<4, true>
                                      : count == 2 ? stmatrix_of_warp<2, true>
                                                   : stmatrix_of_warp<1, true>
                     : count == 4 ? stmatrix_of_warp<4, false>
                     : count == 2   ? stmatrix_of_warp<2, false>
                                    : stmatrix_of_warp<1, false>;
    collective(run, &call, t.file(), t.line());
}

void mma(Thread& t, const Instruction& i) {
    if (i.has("satfinite")) t.refuse("the emulator has no .satfinite");
    if (shape_of(t, i).element == 8) multiply<double>(t, i);
    else if (i.types[0].is_floating()) multiply<float>(t, i);
    else multiply<uint32_t>(t, i);
}

// bar.sync of all threads is __syncthreads(); with a number other than 0, or with a count of
// threads, it is a named barrier.
void bar(Thread& t, const Instruction& i) {
    const int id = int(t.word(i.arguments[0]));
    if (i.has("arrive"))
        return named_barrier_arrive(id, int(t.word(i.arguments[1])), t.file(), t.line());
    if (!i.has("sync")) t.refuse("the emulator has no " + i.opcode);
    if (i.arguments.size() > 1)
        return named_barrier_sync(id, int(t.word(i.arguments[1])), t.file(), t.line());
    if (id)
        return named_barrier_sync(id, int(run.block_threads + 31) / 32 * 32, t.file(), t.line());
    barrier(t.file(), t.line(), -3);
}

void trap(Thread& t, const Instruction&) { t.refuse("this thread has executed it"); }

void bra(Thread& t, const Instruction& i) { t.next = i.target; }

}  // namespace emulator::ptx_warp
