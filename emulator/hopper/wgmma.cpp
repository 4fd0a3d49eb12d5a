// wgmma: products that a warpgroup issues and waits for later. Each warp computes its own 16 rows
// at some time between the call and the wait: at once if threads run in reverse order, as late as
// possible in forward order, at any time in random order. Until the wait the accumulators hold NaN.

#include "emulator/hopper/wgmma.h"

#include <algorithm>
#include <cstring>
#include <deque>
#include <list>
#include <map>
#include <utility>

#include "emulator/engine/accesses.h"
#include "emulator/engine/clocks.h"
#include "emulator/engine/names.h"
#include "emulator/engine/settings.h"
#include "emulator/engine/shared_window.h"
#include "emulator/engine/threads.h"
#include "emulator/engine/unset_variables.h"
#include "emulator/hopper/tensor_loads.h"
#include "emulator/hopper/warpgroups.h"
#include "emulator/hopper/wgmma_operands.h"
#include "emulator/include/common/ptx/hopper.cuh"
#include "emulator/trace/record.h"
#include "emulator/trace/report.h"

namespace emulator {
namespace {

constexpr int kRows = 16, kMaxColumns = 256;

struct Accumulators {  // of a warp: each lane's array d
    float* lanes[32];
    int n;
    std::vector<float> results;  // by lane: what the registers will hold after the wait
    std::vector<float> seen;  // what they held when wgmma or a fence last saw them
    unsigned pending = 0;  // products in flight
};

struct Product {
    WgmmaCall call;
    Accumulators* to;
    unsigned warp, group;
    size_t number;  // of the warp's calls
    Call site;
    const void* pc;
    AsyncOrder order{};
    bool computed = false;
    size_t note = 0;  // its number in the record
    std::vector<uint32_t> words{};  // of all lanes, where A is in registers

    // Visits the chunks of the warp's rows of A in shared memory.
    template <class Visit>
    void each_of_a(unsigned first, const Visit& visit) const {
        if (!words.empty()) return;
        Operand(call.a, call.transposed_a)
            .each(first + kRows, [&](const char* chunk, unsigned r, unsigned) {
                if (r >= first) visit(chunk);
            });
    }
};

struct Warp {
    std::list<Product> in_flight;
    std::map<float*, Accumulators> accumulators;  // by lane 0's
    unsigned groups = 0;  // committed
    bool fenced = false;  // ever
    Call waited{};  // the last wgmma_wait_group(), and the groups that it leaves
    unsigned left = 0;
    size_t calls = 0;
    std::vector<uint32_t> clocks;  // by call: the clock of its reads; 0: not traced yet
} warps[kMaxThreads / 32];

struct Issued {  // by those warps of a warpgroup that have called it
    uint64_t a, b;
    int n;
    Call site;
};
std::deque<Issued> issued[kMaxThreads / 128];  // calls that not all four have made yet
size_t forgotten[kMaxThreads / 128];

unsigned warp_of(const WarpCall&) { return current_thread / 32; }
// The first of the product's 64 rows that its warp computes.
unsigned first_row(const Product& p) { return (p.warp - first_of_warpgroup(p.warp)) * kRows; }
void compute(Product& p) {
    if (std::exchange(p.computed, true)) return;
    if (record::on) record::note("done," + std::to_string(p.note));
    static float a[kDepth][kRows], b[kDepth][kMaxColumns], d[kRows][kMaxColumns];
    const unsigned first = first_row(p), columns = unsigned(p.call.n) * 2;
    if (p.words.empty())
        read(Operand(p.call.a, p.call.transposed_a), first + kRows, first, p.call.is_half, a);
    for (size_t i = 0; i < p.words.size() * 2; ++i) {  // 4 registers of 2 elements per lane
        const size_t lane = i / 8, number = i / 2 % 4;
        a[lane % 4 * 2 + i % 2 + number / 2 * 8][lane / 4 + number % 2 * 8] =
            element_of(uint16_t(p.words[i / 2] >> 16 * (i % 2)), p.call.is_half);
    }
    read(Operand(p.call.b, p.call.transposed_b), columns, 0, p.call.is_half, b);
    const auto each = [&](auto visit) {  // of D
        for (int lane = 0; lane < 32; ++lane)
            for (int i = 0; i < p.call.n; ++i)
                visit(p.to->results[lane * p.call.n + i],
                      d[lane / 4 + i / 2 % 2 * 8][i / 4 * 8 + lane % 4 * 2 + i % 2]);
    };
    each([&](float sum, float& x) { x = p.call.accumulate ? sum : 0; });
    if (p.call.negated)
        for (auto& row : a)
            for (float& x : row) x = -x;
    tensor_core_multiply(p.call.is_half ? tensor_core::Type::f16 : tensor_core::Type::bf16, nullptr,
                         kRows, int(columns), kDepth, a[0], 1, kRows, b[0], kMaxColumns, d[0],
                         kMaxColumns);
    each([&](float& sum, float x) { sum = x; });
}

// Traces what the warp reads: its rows of A, and B.
void trace_operands(Product& p) {
    uint32_t& clock = warps[p.warp].clocks[p.number];
    if (clock) return;
    clocks::act(p.order, [&] {
        const auto read = [&](const char* chunk, unsigned, unsigned) {
            accesses::note_bulk(p.order.agent, chunk, 16, trace::kRead, p.pc);
        };
        p.each_of_a(first_row(p), [&](const char* chunk) { read(chunk, 0, 0); });
        Operand(p.call.b, p.call.transposed_b).each(p.call.n * 2, read);
    });
    clock = p.order.clock + !tracing();
}

// "wgmma,WARP,A,B", its descriptors, and the addresses of each 16 bytes that it reads: its rows of
// A and, after a -, B.
void start_note(Product& p) {
    if (!record::on) return;
    record::collective = "wgmma";
    std::string text = "wgmma," + std::to_string(p.warp) + "," + std::to_string(p.call.a) + "," +
                       std::to_string(p.call.b);
    p.each_of_a(first_row(p), [&](const char* chunk) { text += record::number(chunk); });
    text += ",-";
    Operand(p.call.b, p.call.transposed_b)
        .each(p.call.n * 2,
              [&](const char* chunk, unsigned, unsigned) { text += record::number(chunk); });
    p.note = record::note(text);
}

// How many of the warp's calls are covered by a wait for all groups except the latest `pending`.
size_t covered(const Warp& warp, unsigned pending) {
    size_t calls = warp.calls;
    for (auto p = warp.in_flight.rbegin(); p != warp.in_flight.rend(); ++p)
        if (p->group + pending >= warp.groups) --calls;
    return calls;
}

constexpr uint32_t kPoison = ~0u;

template <class Visit>
void each_register(Accumulators& d, const Visit& visit) {
    for (int lane = 0; lane < 32; ++lane)
        for (int i = 0; i < d.n; ++i) visit(d.lanes[lane][i], lane * d.n + i);
}
bool holds(Accumulators& d, const float* values) {  // null: the poison
    bool same = true;
    each_register(d, [&](float& x, int i) {
        const uint32_t bits = values ? __builtin_bit_cast(uint32_t, values[i]) : kPoison;
        same &= __builtin_bit_cast(uint32_t, x) == bits;
    });
    return same;
}

void check_untouched(Warp& warp, const char* file, int line) {
    for (Product& p : warp.in_flight)
        if (!holds(*p.to, nullptr))
            misuse("wgmma: accumulators were written while the wgmma at " + site_name(p.site) +
                       " was in flight",
                   file, line);
}

// Computes some of the products in flight, as the order of threads has it.
void make_progress(Warp& warp) {
    for (Product& p : warp.in_flight) {
        const bool now = happens_early();
        if (!p.computed && !now) return;
        compute(p);
    }
}

// The four warps must make the same calls.
void check_warpgroup(const WgmmaCall& call, Warp& warp, unsigned number, const Call& site) {
    const unsigned first_warp = first_of_warpgroup(number), group = first_warp / 4;
    auto& list = issued[group];
    const size_t index = warp.calls++ - forgotten[group];
    if (index == list.size()) list.push_back({call.a, call.b, call.n, site});
    const Issued& first = list[index];
    if (!same_site(first.site, site) || first.n != call.n || first.b != call.b || first.a != call.a)
        misuse("wgmma: the warps of the warpgroup call different ones: warp " +
                   std::to_string(number) + " this one, another the one at " +
                   site_name(first.site) +
                   (same_site(first.site, site) ? ", of other operands" : ""),
               site.file, site.line);
    size_t least = warp.calls;
    for (unsigned w = first_warp; w < first_warp + 4; ++w) least = std::min(least, warps[w].calls);
    for (; forgotten[group] < least; ++forgotten[group]) list.pop_front();
}

// Notes a descriptor that contradicts the box in which the operand lies. It is not an error, because
// rows may be stored so that another layout is meant.
void compare_with_box(const std::string& name, const Operand& operand, unsigned size,
                      const Call& site) {
    const tensor_loads::Box* const box = tensor_loads::box_at(operand.chunk(0, 0));
    if (!box) return;
    const auto with = [](unsigned swizzle) {
        return swizzle ? "with a swizzle of " + std::to_string(swizzle) + " bytes"
                       : std::string("without a swizzle");
    };
    const unsigned swizzle = operand.row == 16 ? 0 : operand.row;
    const std::string reads = site_name(site) + ": wgmma reads " + name + " ";
    const std::string load = "cp_async_bulk_tensor at " + site_name(box->site) + " has stored it ";
    if (swizzle != box->swizzle) report_note(reads + with(swizzle), load + with(box->swizzle));
    else if (swizzle && box->pitch == swizzle && operand.stride != 8 * swizzle &&
             (operand.transposed ? kDepth : size) > 8)
        report_note(reads + "with a stride of " + std::to_string(operand.stride) + " bytes",
                    load + "with " + std::to_string(8 * swizzle) +
                        " from one group of eight rows to the next");
}

// Why a wgmma may not have been waited for.
std::string reason(const Warp& warp) {
    if (warp.in_flight.front().group == warp.groups) return ": no wgmma_commit_group() follows it";
    if (warp.left == 0) return "";
    return ": the one at " + site_name(warp.waited) + " leaves the last " +
           (warp.left == 1 ? "group" : std::to_string(warp.left) + " groups") + " in flight";
}

const WgmmaCall& call_of(const WarpCall& call, int lane) {
    return *static_cast<const WgmmaCall*>(call.arguments[lane]);
}

}  // namespace

void wgmma(const WarpCall& call) {
    const WgmmaCall& mine = call_of(call, 0);
    const auto refuse = [&](const std::string& why) {
        misuse("wgmma: " + why, call.file, call.line);
    };
    require(90, "wgmma", call.file, call.line);
    const unsigned number = warp_of(call);
    require_whole_warpgroup(number, refuse);
    Warp& warp = warps[number];
    for (int lane = 1; lane < 32; ++lane)
        if (call_of(call, lane).a != mine.a || call_of(call, lane).b != mine.b ||
            call_of(call, lane).accumulate != mine.accumulate)
            refuse("lanes 0 and " + std::to_string(lane) + " give different operands");
    const Call site{call.file, call.line, 0};
    check_warpgroup(mine, warp, number, site);
    check_untouched(warp, call.file, call.line);

    const auto check = [&](const char* name, uint64_t descriptor, bool transposed, int size) {
        const Operand operand(descriptor, transposed);
        if (operand.start < kFirstShared || descriptor >> 49 & 7)
            refuse("that is not a descriptor of an operand in shared memory");
        operand.each(unsigned(size), [&](char* chunk, unsigned, unsigned) {
            accesses::check_bulk(chunk, 16, trace::kRead, call.pc);
        });
        compare_with_box(name, operand, unsigned(size), site);
    };
    if (!mine.registers) check("A", mine.a, mine.transposed_a, 64);
    check("B", mine.b, mine.transposed_b, mine.n * 2);

    // The registers must be as a fence has left them. From now on they must not be accessed.
    Accumulators& d = warp.accumulators[mine.d];
    const bool is_new = d.n != mine.n;
    if (is_new) {
        d.n = mine.n;
        d.results.resize(32 * d.n);
        d.seen.resize(32 * d.n);
    }
    for (int lane = 0; lane < 32; ++lane) d.lanes[lane] = call_of(call, lane).d;
    if (!warp.fenced || (!is_new && d.pending == 0 && !holds(d, d.seen.data())))
        refuse(warp.fenced ? "no wgmma_fence() since the accumulators were written"
                           : "no wgmma_fence() before the first one");
    if (mine.accumulate)
        check_accumulators("wgmma", mine.d, mine.n * sizeof *mine.d, call.file, call.line);
    if (d.pending++ == 0) each_register(d, [&](float& x, int i) { d.results[i] = x; });
    each_register(d, [](float& x, int) { x = __builtin_bit_cast(float, kPoison); });

    Product product{mine, &d, number, warp.groups, warp.calls - 1, site, call.pc};
    for (int word = 0; mine.registers && word < 32 * 4; ++word)
        product.words.push_back(call_of(call, word / 4).registers[word % 4]);
    warp.clocks.push_back(0);
    product.order = clocks::begin_async(number * 32, &warp, 32);
    start_note(product);
    warp.in_flight.push_back(std::move(product));
    make_progress(warp);
    wake(&issued[first_of_warpgroup(number) / 4]);  // they check again
}

void wgmma_fence(const WarpCall& call) {
    require(90, "wgmma_fence", call.file, call.line);
    Warp& warp = warps[warp_of(call)];
    check_untouched(warp, call.file, call.line);
    record::collective = "wgmma fence";
    warp.fenced = true;
    for (auto& [key, d] : warp.accumulators)
        if (d.pending == 0) each_register(d, [&d = d](float& x, int i) { d.seen[i] = x; });
}

void wgmma_commit_group(const WarpCall& call) {
    record::collective = "wgmma commit";
    ++warps[warp_of(call)].groups;
}

// Waits until all four warps have called the products, because only then a product is complete for
// each of them.
void wgmma_wait_for_warps(int pending, const char* file, int line) {
    EmulatorsWork work;
    if (record::on) record::call(current_thread, "wgmma wait", file, line);
    const unsigned number = current_thread / 32, first = first_of_warpgroup(number);
    const size_t calls = covered(warps[number], unsigned(pending));
    const auto missing = [&] {
        for (unsigned w = first; w < first + 4; ++w)
            if (warps[w].calls < calls) return true;
        return false;
    };
    while (missing())
        wait_for(&issued[first / 4], {file, line, 0}, [](const void*) -> std::string {
            return ", for a wgmma that not all warps have called";
        });
}

void wgmma_wait_group(const WarpCall& call) {
    const unsigned number = warp_of(call), pending = *static_cast<const int*>(call.arguments[0]);
    Warp& warp = warps[number];
    check_untouched(warp, call.file, call.line);
    record::collective = nullptr;  // wgmma_wait_for_warps() has recorded the wait
    make_progress(warp);
    warp.waited = {call.file, call.line, 0};
    warp.left = pending;
    const size_t done = covered(warp, pending);
    const unsigned first = first_of_warpgroup(number);
    for (unsigned w = first; done && w < first + 4; ++w) {
        for (Product& p : warps[w].in_flight)
            if (p.number < done) {
                compute(p);
                trace_operands(p);
            }
        AsyncOrder last;
        last.agent = tracing() ? clocks::agent(&warps[w]) : 0;
        last.clock = warps[w].clocks[done - 1];
        for (unsigned lane = 0; lane < 32; ++lane) clocks::learn(number * 32 + lane, last);
    }
    while (!warp.in_flight.empty() && warp.in_flight.front().number < done) {
        Accumulators& d = *warp.in_flight.front().to;
        if (--d.pending == 0)
            each_register(d, [&](float& x, int i) { d.seen[i] = x = d.results[i]; });
        warp.in_flight.pop_front();
    }
}

namespace wgmma_state {

void begin_block() {
    for (unsigned w = 0; w < (run.threads + 31) / 32; ++w) warps[w] = Warp();
    for (unsigned g = 0; g < (run.threads + 127) / 128; ++g) {
        issued[g].clear();
        forgotten[g] = 0;
    }
}

void end_block() {
    for (unsigned w = 0; w < (run.threads + 31) / 32; ++w) {
        const unsigned first = first_of_warpgroup(w);
        if (!warps[w].in_flight.empty())
            report_once("the block ends, and no wgmma_wait_group() covers the wgmma at " +
                            site_name(warps[w].in_flight.front().site) + reason(warps[w]),
                        block_name() + ", warp " + std::to_string(w));
        if (warps[w].calls != warps[first].calls)
            report_problem("the block ends, and warp " + std::to_string(w) + " has called wgmma " +
                           std::to_string(warps[w].calls) + " times, warp " +
                           std::to_string(first) + " " + std::to_string(warps[first].calls) +
                           " times (" + block_name() + ")");
    }
}

void fail_block() {
    for (unsigned w = 0; w < (run.threads + 31) / 32; ++w)
        for (Product& p : warps[w].in_flight) trace_operands(p);
}

}  // namespace wgmma_state
}  // namespace emulator
