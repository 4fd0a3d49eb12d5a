// Which lane holds which element of a matrix, for WMMA's fragments and PTX's mma instructions; the
// checks and traces of WMMA's loads and stores, of ldmatrix, cp.async and red; and mma itself.

#include "emulator/include/fragments.h"

#include <algorithm>

#include "emulator/engine/accesses.h"
#include "emulator/engine/settings.h"
#include "emulator/engine/threads.h"
#include "emulator/engine/unset_variables.h"
#include "emulator/include/common/ptx/ptx.cuh"
#include "emulator/trace/lines.h"
#include "emulator/trace/record.h"

namespace emulator {

ElementMap::ElementMap(char operand, const char* lanes, const char* elements) {
    Position adds[9] = {};  // what the lane's five bits and i's four bits add
    const auto read = [&](const char* rule, Position* to) {
        for (; *rule; ++to) {
            const char letter = *rule++;
            const bool row = letter == 'm' || (letter == 'k' && operand == 'B');
            char* end;
            (row ? to->row : to->col) = int(std::strtol(rule, &end, 10));  // "-" gives 0
            for (rule = end; *rule == ' ';) ++rule;
        }
    };
    read(lanes, adds);
    read(elements, adds + 5);
    const auto expand = [&](Position(&positions)[32][16]) {
        for (int number = 0; number < 32 * 16; ++number) {
            Position& position = positions[number % 32][number / 32] = {0, 0};
            for (int bit = 0; bit < 9; ++bit)
                if (number >> bit & 1) {
                    position.row += adds[bit].row;
                    position.col += adds[bit].col;
                }
        }
    };
    expand(at);
    // In an 8x8 block x[1] and the lane's bits of 1 and 2 move along a row, and its bits of 4, 8 and
    // 16 to other rows.
    std::swap(adds[5], adds[2]);
    std::swap(adds[0], adds[3]);
    std::swap(adds[1], adds[4]);
    expand(transposed);
}

namespace {

struct Rule {
    int since;
    char operand;
    const char *types, *shapes, *layout;  // layout: "" where it makes no difference
    const char *lanes, *elements;
};
// The last matching row applies, but none before Element<T>::since in mma.h. Where elements are
// packed (s4, u4, b1), k is counted in words. Sources: for sm_80, fragments dumped on an H200, which
// has the layouts of sm_80 (driver 580.159, CUDA 13.0); sm_75 is assumed to be the same; for sm_70,
// and for half 16x16x16 on sm_75, the table of what the hardware showed,
// 07_fragment_probe/layouts.inc, with which 07's tests compare these rules.
// clang-format off
constexpr Rule kRules[] = {
    // sm  of  types              shapes                 layout  lane bits 1 to 16 x[1] [2] [4] [8]
    {70, 'A', "half",            "16x16x16",             "row", "m1 m2 m8 -  m4", "k1 k2 k4 k8"},
    {70, 'A', "half",            "16x16x16",             "col", "k1 k2 m8 -  m4", "m1 m2 k4 k8"},
    {70, 'B', "half",            "16x16x16",             "row", "k1 k2 -  n8 n4", "n1 n2 k4 k8"},
    {70, 'B', "half",            "16x16x16",             "col", "n1 n2 -  n8 n4", "k1 k2 k4 k8"},
    {70, 'C', "half",            "16x16x16",             "",    "m1 m2 m8 n8 m4", "n1 n2 n4"},
    {70, 'C', "float",           "16x16x16",             "",    "m1 n2 m8 n8 m4", "n1 m2 n4"},

    {75, 'A', "half bf16",       "16x16x16",             "",    "k2 k4 m1 m2 m4", "k1 m8 k8 -"},
    {75, 'A', "half bf16",       "32x8x16",              "",    "k2 k4 m1 m2 m4", "k1 m8 k8 m16"},
    {75, 'A', "half bf16",       "8x32x16",              "",    "k2 k4 m1 m2 m4", "k1 k8 -  -"},
    {75, 'B', "half bf16",       "16x16x16",             "",    "k2 k4 n1 n2 n4", "k1 k8 n8 -"},
    {75, 'B', "half bf16",       "32x8x16",              "",    "k2 k4 n1 n2 n4", "k1 k8 -  -"},
    {75, 'B', "half bf16",       "8x32x16",              "",    "k2 k4 n1 n2 n4", "k1 n8 k8 n16"},
    {75, 'A', "s8 u8",           "16x16x16 32x8x16",     "",    "k4 k8 m1 m2 m4", "k1 k2 m8 m16"},
    {75, 'A', "s8 u8",           "8x32x16",              "",    "k4 k8 m1 m2 m4", "k1 k2"},
    {75, 'B', "s8 u8",           "16x16x16 8x32x16",     "",    "k4 k8 n1 n2 n4", "k1 k2 n8 n16"},
    {75, 'B', "s8 u8",           "32x8x16",              "",    "k4 k8 n1 n2 n4", "k1 k2"},
    {75, 'A', "tf32",            "16x16x8",              "",    "k1 k2 m1 m2 m4", "m8 k4"},
    {75, 'B', "tf32",            "16x16x8",              "",    "k1 k2 n1 n2 n4", "k4 n8"},
    {75, 'A', "double s4 u4 b1", "8x8x4 8x8x32 8x8x128", "",    "k1 k2 m1 m2 m4", ""},
    {75, 'B', "double s4 u4 b1", "8x8x4 8x8x32 8x8x128", "",    "k1 k2 n1 n2 n4", ""},
    {75, 'C', "half float int",  "16x16x16",             "",    "n2 n4 m1 m2 m4", "n1 m8 n8"},
    {75, 'C', "half float int",  "32x8x16",              "",    "n2 n4 m1 m2 m4", "n1 m8 m16"},
    {75, 'C', "half float int",  "8x32x16",              "",    "m2 m4 n1 n2 n4", "m1 n8 n16"},
    {80, 'C', "float",           "16x16x8",              "",    "n2 n4 m1 m2 m4", "n1 m8 n8"},
    {75, 'C', "double int",      "8x8x4 8x8x32 8x8x128", "",    "n2 n4 m1 m2 m4", "n1"},
};
// clang-format on

}  // namespace

const ElementMap& FragmentKind::map(const WarpCall& call) {
    const int arch = std::min(architecture(), 80);
    const ElementMap*& map = known[(arch - 70) / 5];
    if (map) return *map;
    const std::string shape = std::to_string(m) + "x" + std::to_string(n) + "x" + std::to_string(k);
    const Rule* found = nullptr;
    for (const Rule& rule : kRules)
        if (std::max(rule.since, since) <= arch && rule.operand == operand &&
            std::strstr(rule.types, type) && std::strstr(rule.shapes, shape.c_str()) &&
            (!*rule.layout || !std::strcmp(rule.layout, layout)))
            found = &rule;
    if (!found)
        misuse("fragments of " + std::string(type) + " " + shape + " are not supported on sm_" +
                   std::to_string(arch),
               call.file, call.line);
    return *(map = new ElementMap(operand, found->lanes, found->elements));
}

void require(int since, const char* instruction, const char* file, int line) {
    if (architecture() < since)
        misuse(std::string(instruction) + ": needs sm_" + std::to_string(since) + ", not sm_" +
                   std::to_string(architecture()),
               file, line);
}

// Notes "fill,WARP,REGISTERS" and the 16 bytes that each lane reads.
void trace_ldmatrix(const void* const (&rows)[32], int matrices, const void* registers,
                    const void* pc) {
    if (record::on) {
        std::string text =
            "fill," + std::to_string(current_thread / 32) + record::number(registers);
        for (int lane = 0; lane < 8 * matrices; ++lane) text += record::number(rows[lane]);
        record::note(text);
    }
    for (int lane = 0; lane < 8 * matrices; ++lane) trace_lane(lane, rows[lane], 16, false, pc);
}

// "mma,WARP,A,BYTES,B,BYTES"
void note_product(const void* a, int a_bytes, const void* b, int b_bytes) {
    if (record::on)
        record::note("mma," + std::to_string(current_thread / 32) + record::number(a) + "," +
                     std::to_string(a_bytes) + record::number(b) + "," + std::to_string(b_bytes));
}

// ---- WMMA's loads and stores --------------------------------------------------------------------

namespace {

bool is_aligned(const void* address, int bytes) {
    return reinterpret_cast<uintptr_t>(address) % bytes == 0;
}

// CUDA C++ Programming Guide, "Warp Matrix Functions": the matrix begins at a multiple of 32 bytes,
// and the leading dimension is a multiple of 16 bytes.
constexpr int kMatrixAlignment = 32, kLeadingDimensionBytes = 16;

const MemoryCall& memory_of(const WarpCall& call, int lane) {
    return *static_cast<const MemoryCall*>(call.arguments[lane]);
}

// Reports the first row (or column, if they are stored column by column) that ends past the array in
// device memory in which the matrix begins.
void check_end(const WarpCall& call, const FragmentKind& kind, const MemoryCall& first,
               bool store) {
    const Allocation* const array = find_allocation(reinterpret_cast<uintptr_t>(first.matrix));
    if (!array || only_ends_run()) return;
    const int rows = kind.operand == 'B' ? kind.k / kind.packed : kind.m;
    const int cols = kind.operand == 'A' ? kind.k / kind.packed : kind.n;
    const int bytes = (first.row_major ? cols : rows) * kind.bytes;
    for (int line = 0; line < (first.row_major ? rows : cols); ++line) {
        const Position begin = first.row_major ? Position{line, 0} : Position{0, line};
        const auto address = reinterpret_cast<uintptr_t>(first.address(kind, begin));
        if (address + bytes > array->end)
            refuse_access(current_thread / 32 * 32,
                          "out of bounds: " + short_place(call.file, call.line) +
                              (store ? " writes" : " reads"),
                          bytes,
                          describe_address(address, bytes) + ": " +
                              (first.row_major ? "row " : "column ") + std::to_string(line) +
                              " of a fragment whose ldm is " + std::to_string(first.ldm),
                          cudaErrorIllegalAddress);
    }
}

void check_move(const WarpCall& call, const FragmentKind& kind, bool store) {
    const auto refuse = [&](const std::string& what) {
        misuse((store ? "store_matrix_sync: " : "load_matrix_sync: ") + what, call.file, call.line);
    };
    const MemoryCall& first = memory_of(call, 0);
    for (int lane = 1; lane < 32; ++lane) {
        const MemoryCall& other = memory_of(call, lane);
        const char* what = other.matrix != first.matrix         ? "pointers"
                           : other.ldm != first.ldm             ? "ldm"
                           : other.row_major != first.row_major ? "layouts"
                                                                : nullptr;
        if (!what) continue;
        refuse("lanes 0 and " + std::to_string(lane) + " of the warp give different " + what);
    }
    if (!is_aligned(first.matrix, kMatrixAlignment))
        refuse("the pointer is not aligned to " + std::to_string(kMatrixAlignment) + " bytes");
    const int least = kLeadingDimensionBytes * kind.packed / kind.bytes;
    if (first.ldm % least)
        refuse("ldm is " + std::to_string(first.ldm) + ", not a multiple of " +
               std::to_string(least));
    check_end(call, kind, first, store);
}

// Traces what the hardware accesses, according to nvcc's machine code for sm_75, sm_80 and sm_90. A
// and B in shared memory are read by ldmatrix, up to 4 blocks of 8 rows of 16 bytes. Otherwise each
// lane accesses its own elements, neighbours together. Blocks of 16-bit elements in the other
// memory order are transposed in registers.
void trace_move(const WarpCall& call, const FragmentKind& kind, const ElementMap& map, bool store) {
    const MemoryCall& memory = memory_of(call, 0);
    // x[0], x[1], ... of a lane run along a row, but down a column in B and in the C of 8x32x16.
    const bool line_is_col = kind.operand == 'B' || (kind.operand == 'C' && kind.n > kind.m);
    const bool volta = architecture() == 70, by_lines = memory.row_major != line_is_col;
    const bool transposed = !volta && kind.bytes == 2 && !by_lines;
    const auto address = [&](int lane, int i) {
        return static_cast<const char*>(
            memory.address(kind, (transposed ? map.transposed : map.at)[lane][i]));
    };
    if (kind.operand != 'C' && !kind.is_float && !volta && (by_lines || transposed) &&
        traced_as_shared(memory.matrix)) {
        const int joint = std::max(1, 4 / kind.bytes), blocks = kind.distinct / joint;
        const int at_once = std::min(blocks, architecture() == 75 ? 2 : 4);
        const void* rows[32];
        for (int block = 0; block < blocks; block += at_once) {
            for (int lane = 0; lane < 8 * at_once; ++lane)
                rows[lane] = address(lane % 8 * 4, (block + lane / 8) * joint);
            trace_ldmatrix(rows, at_once, static_cast<const char*>(memory.x) + 4 * block, call.pc);
        }
        return;
    }
    const int elements = volta ? kind.elements : kind.distinct;
    for (int lane = 0; lane < 32; ++lane) {
        for (int i = 0, end; i < elements; i = end) {
            for (end = i + 1; end < elements && (end - i) * kind.bytes < 16; ++end)
                if (address(lane, end) != address(lane, i) + (end - i) * kind.bytes) break;
            trace_lane(lane, address(lane, i), (end - i) * kind.bytes, store, call.pc);
        }
    }
}

}  // namespace

const ElementMap& begin_move(const WarpCall& call, FragmentKind& kind, bool store) {
    const ElementMap& map = kind.map(call);
    check_move(call, kind, store);
    if (tracing()) trace_move(call, kind, map, store);
    return map;
}

// ---- PTX ----------------------------------------------------------------------------------------

bool is_shared(const void* address) {
    return tracing() ? traced_as_shared(address)
                     : !find_allocation(reinterpret_cast<uintptr_t>(address));
}

void begin_ldmatrix(const WarpCall& call, int matrices, const void* (&rows)[32]) {
    require(75, "ldmatrix", call.file, call.line);
    for (int lane = 0; lane < 32; ++lane) {
        rows[lane] = static_cast<const LdmatrixCall*>(call.arguments[lane])->row;
        if (lane >= 8 * matrices && architecture() > 75) continue;  // on sm_75 all must be valid
        const auto refuse = [&](const char* what) {
            misuse("ldmatrix: the row of lane " + std::to_string(lane) + what, call.file,
                   call.line);
        };
        if (!is_aligned(rows[lane], 16)) refuse(" is not aligned to 16 bytes");
        if (!is_shared(rows[lane])) refuse(" is not in shared memory");
    }
    trace_ldmatrix(rows, matrices, static_cast<const LdmatrixCall*>(call.arguments[0])->registers,
                   call.pc);
}

void check_cp_async(const void* to, const void* from, int bytes, int valid, const char* file,
                    int line) {
    const auto refuse = [&](const std::string& what) { misuse("cp.async: " + what, file, line); };
    require(80, "cp.async", file, line);
    if (valid < 0 || valid > bytes)
        refuse("reads " + std::to_string(valid) + " of " + std::to_string(bytes) + " bytes");
    for (const void* address : {to, from})
        if (!is_aligned(address, bytes))
            refuse("an address is not aligned to " + std::to_string(bytes) + " bytes");
    if (!is_shared(to)) refuse("the destination is not in shared memory");
    if (!valid || only_ends_run()) return;  // with run_ends_only() allocations are not known
    if (is_shared(from)) refuse("the source is not in global memory");
    const auto address = reinterpret_cast<uintptr_t>(from);
    if (!find_allocation(address))
        refuse_access(current_thread, "out of bounds: " + short_place(file, line) + " reads", valid,
                      describe_address(address, valid), cudaErrorIllegalAddress);
}

void check_red(const void* to, const char* file, int line) {
    if (!is_aligned(to, 16)) misuse("red: the address is not aligned to 16 bytes", file, line);
}

// clang-format off
const MmaShape kM16n8k16 = {"mma.m16n8k16", 80, 16, 8, 16, 1, 2,
    // the lane's bits 1 2 4 8 16, those of the registers' elements 1 2 4
    {'A', "k2 k4 m1 m2 m4", "k1 m8 k8"},
    {'B', "k2 k4 n1 n2 n4", "k1 k8"},
    {'C', "n2 n4 m1 m2 m4", "n1 m8"}};
const MmaShape kM16n8k8 = {"mma.m16n8k8", 75, 16, 8, 8, 1, 2,
    {'A', "k2 k4 m1 m2 m4", "k1 m8"},
    {'B', "k2 k4 n1 n2 n4", "k1"},
    {'C', "n2 n4 m1 m2 m4", "n1 m8"}};
const MmaShape kM16n8k8_tf32 = {"mma.m16n8k8", 80, 16, 8, 8, 1, 4,
    {'A', "k1 k2 m1 m2 m4", "m8 k4"},
    {'B', "k1 k2 n1 n2 n4", "k4"},
    {'C', "n2 n4 m1 m2 m4", "n1 m8"}};
const MmaShape kM16n8k4_tf32 = {"mma.m16n8k4", 80, 16, 8, 4, 1, 4,
    {'A', "k1 k2 m1 m2 m4", "m8"},
    {'B', "k1 k2 n1 n2 n4", ""},
    {'C', "n2 n4 m1 m2 m4", "n1 m8"}};
const MmaShape kM16n8k16_bytes = {"mma.m16n8k16", 80, 16, 8, 16, 1, 1,
    {'A', "k4 k8 m1 m2 m4", "k1 k2 m8"},
    {'B', "k4 k8 n1 n2 n4", "k1 k2"},
    {'C', "n2 n4 m1 m2 m4", "n1 m8"}};
const MmaShape kM16n8k32_bytes = {"mma.m16n8k32", 80, 16, 8, 32, 1, 1,
    {'A', "k4 k8 m1 m2 m4", "k1 k2 m8 k16"},
    {'B', "k4 k8 n1 n2 n4", "k1 k2 k16"},
    {'C', "n2 n4 m1 m2 m4", "n1 m8"}};
const MmaShape kM8n8k16_bytes = {"mma.m8n8k16", 75, 8, 8, 16, 1, 1,
    {'A', "k4 k8 m1 m2 m4", "k1 k2"},
    {'B', "k4 k8 n1 n2 n4", "k1 k2"},
    {'C', "n2 n4 m1 m2 m4", "n1"}};
const MmaShape kM8n8k4_double = {"mma.m8n8k4", 80, 8, 8, 4, 1, 8,
    {'A', "k1 k2 m1 m2 m4", ""},
    {'B', "k1 k2 n1 n2 n4", ""},
    {'C', "n2 n4 m1 m2 m4", "n1"}};
// Four quad-pairs, lanes 4q to 4q + 3 and 4q + 16 to 4q + 19, each of which computes a product of
// its own.
const MmaShape kM8n8k4_half = {"mma.m8n8k4", 70, 8, 8, 4, 4, 2,
    {'A', "k1 k2 -  -  m4", "m1 m2"},
    {'B', "n1 n2 -  -  n4", "k1 k2"},
    {'C', "m1 m2 -  -  m4", "n1 n2 n4"}};
const MmaShape kM8n8k4_float = {"mma.m8n8k4", 70, 8, 8, 4, 4, 2,
    {'A', "k1 k2 -  -  m4", "m1 m2"},
    {'B', "n1 n2 -  -  n4", "k1 k2"},
    {'C', "m1 n2 -  -  m4", "n1 m2 n4"}};
// clang-format on

void check_accumulators(const char* instruction, const void* accumulators, size_t bytes,
                        const WarpCall& call) {
    check_accumulators(instruction, accumulators, bytes, call.file, call.line);
}
template <class Number>
static void check_accumulators(const MmaCall<Number>& lane, int count, const WarpCall& call) {
    if constexpr (std::is_same_v<Number, float>)
        if (lane.half_accumulators) {
            half d[8];
            std::copy_n(lane.d, count, d);
            return check_accumulators(lane.shape->name, d, count * sizeof *d, call);
        }
    check_accumulators(lane.shape->name, lane.d, count * sizeof *lane.d, call);
}

// Accumulates in Number, k ascending, where tensor_core.h has no rule: integers, doubles, and the
// m8n8k4 of sm_80 and later (multiply_add).
template <class Number>
void mma(const WarpCall& call) {
    using Call = MmaCall<Number>;
    Call* of_lane[32];
    for (int lane = 0; lane < 32; ++lane) {
        of_lane[lane] = static_cast<Call*>(const_cast<void*>(call.arguments[lane]));
        if (of_lane[lane]->shape != of_lane[0]->shape)
            misuse("mma: lanes 0 and " + std::to_string(lane) + " call different instructions",
                   call.file, call.line);
    }
    const MmaShape& shape = *of_lane[0]->shape;
    require(shape.since, shape.name, call.file, call.line);
    const int lanes = 32 / shape.groups;
    check_accumulators(*of_lane[0], shape.m * shape.n / lanes, call);
    note_product(of_lane[0]->registers_a, shape.m * shape.k / lanes * shape.element,
                 of_lane[0]->registers_b, shape.k * shape.n / lanes * shape.element);
    for (int group = 0; group < shape.groups; ++group) {
        Number a[16][32], b[32][8], d[16][8];
        // Visits the elements of an operand: the register that holds each, its row and column.
        const auto each = [&](const ElementMap& map, int size, auto Call::*registers, auto visit) {
            for (int lane = 0; lane < 32; ++lane)
                for (int i = 0; i < size / lanes && lane / 4 % shape.groups == group; ++i)
                    visit((of_lane[lane]->*registers)[i], map.at[lane][i]);
        };
        each(shape.a, shape.m * shape.k, &Call::a,
             [&](Number x, Position p) { a[p.row][p.col] = x; });
        each(shape.b, shape.k * shape.n, &Call::b,
             [&](Number x, Position p) { b[p.row][p.col] = x; });
        each(shape.d, shape.m * shape.n, &Call::d,
             [&](Number x, Position p) { d[p.row][p.col] = x; });
        bool added = false;
        if constexpr (std::is_same_v<Number, float>)
            if (shape.groups == 1 || architecture() < 80) {
                tensor_core_multiply(of_lane[0]->type,
                                     of_lane[0]->half_accumulators ? &call : nullptr, shape.m,
                                     shape.n, shape.k, a[0], 32, 1, b[0], 8, d[0], 8);
                added = true;
            }
        if (!added)
            for (int row = 0; row < shape.m; ++row)
                for (int k = 0; k < shape.k; ++k)
                    for (int col = 0; col < shape.n; ++col)
                        d[row][col] = multiply_add(a[row][k], b[k][col], d[row][col]);
        each(shape.d, shape.m * shape.n, &Call::d,
             [&](Number& x, Position p) { x = d[p.row][p.col]; });
    }
}
template void mma<float>(const WarpCall& call);
template void mma<double>(const WarpCall& call);
template void mma<uint32_t>(const WarpCall& call);

}  // namespace emulator
