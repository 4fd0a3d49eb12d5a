// Counters in device memory that a launch begins with what the launch before has left there.
//
// Blocks that count themselves, so that the last one finishes the work, compare what atomicAdd()
// returns with the number of blocks. The comparison cannot be seen, but its effect can: lines that
// have run in the launch before do not run in this one.

#include "emulator/engine/counters.h"

#include <cstdint>
#include <map>
#include <vector>

#include "emulator/engine/device_memory.h"
#include "emulator/engine/names.h"
#include "emulator/engine/run.h"
#include "emulator/include/atomic_values.h"
#include "emulator/trace/address.h"
#include "emulator/trace/lines.h"
#include "emulator/trace/report.h"
#include "emulator/trace/sites.h"

namespace emulator {
namespace {

struct Counter {
    const void* address = nullptr;
    uint32_t first = 0, count = 0;  // its value before the launch; how often it was incremented
    uintptr_t pc = 0;
    bool in_device_memory = false;
};
// By a hash of the address. A launch in which two words share a place counts more than its blocks.
Counter counters_of_launch[1024];
bool any, too_many;
std::vector<uint64_t> requests_before;  // of each site, when the first counter was met

struct Finished {  // the last launch of a kernel
    uint64_t blocks = 0;
    std::vector<Counter> counters;
    std::vector<bool> ran;  // by the number of the site
};
std::map<const void*, Finished>& finished = *new std::map<const void*, Finished>;

std::vector<uint64_t> requests() {
    std::vector<uint64_t> all;
    for (const Site& site : all_sites()) all.push_back(site.requests);
    return all;
}

Finished present_launch() {
    Finished now;
    now.blocks = count(run.grid);
    for (const Counter& c : counters_of_launch)
        if (c.in_device_memory) now.counters.push_back(c);
    const std::vector<uint64_t> after = requests();
    for (size_t i = 0; i < after.size(); ++i)
        now.ran.push_back(after[i] > (i < requests_before.size() ? requests_before[i] : 0));
    return now;
}

// The line that has run in the launch before and not in this one, if possible one that stores; "" if
// there is none.
std::string line_that_ran(const Finished& before, const Finished& now) {
    const Site* found = nullptr;
    for (size_t i = 0; i < before.ran.size(); ++i) {
        if (!before.ran[i] || now.ran[i]) continue;
        const Site& site = all_sites()[i];
        if (!found || (site.store && site.global && !(found->store && found->global)))
            found = &site;
    }
    return found ? line_or_unknown(found->pc) : "";
}

// Each block has incremented one of the counters of this instruction once.
bool one_for_each_block(const Finished& launch, uintptr_t pc) {
    uint64_t all = 0;
    for (const Counter& c : launch.counters)
        if (c.pc == pc) all += c.count;
    return all == launch.blocks;
}

void compare(const Finished& before, const Finished& now) {
    for (const Counter& then : before.counters)
        for (const Counter& c : now.counters) {
            if (c.address != then.address || c.pc != then.pc || c.count != then.count) continue;
            if (then.first != 0 || c.first != then.count || c.count < 2) continue;
            if (!one_for_each_block(before, c.pc) || !one_for_each_block(now, c.pc)) continue;
            const std::string line = line_that_ran(before, now);
            if (line.empty()) continue;
            return report_note(
                line_or_unknown(c.pc),
                "the counter begins a launch of " + kernel_name() + " at " +
                    std::to_string(c.first) +
                    ", where the launch before has left it, so that no "
                    "block gets " +
                    std::to_string(c.count - 1) + " as the last one did then: " + line +
                    " has run in that launch, and not in this one. The counter must be 0 "
                    "before each launch, or the last block resets it");
        }
}

}  // namespace

void note_count(const void* address, uint32_t old, const void* pc) {
    if (!traced || too_many) return;
    Counter& c = counters_of_launch[address_value(address) / 4 % std::size(counters_of_launch)];
    if (c.address == address) {
        ++c.count;
        return;
    }
    too_many = c.address != nullptr;
    if (too_many) return;
    c = {address, old, 1, address_value(pc), find_allocation(address_value(address)) != nullptr};
    if (c.in_device_memory && requests_before.empty()) requests_before = requests();
    any = true;
}

namespace counters {

void begin_launch() {
    if (any)
        for (Counter& c : counters_of_launch) c = Counter();
    any = too_many = false;
    requests_before.clear();
}

void end_launch() {
    if (!any || run.restart) return;
    const void* const kernel = run.kernel ? run.kernel : run.name;
    Finished now;
    if (!too_many && !run.error && !requests_before.empty()) now = present_launch();
    if (!now.counters.empty()) compare(finished[kernel], now);
    finished[kernel] = now;
}

}  // namespace counters
}  // namespace emulator
