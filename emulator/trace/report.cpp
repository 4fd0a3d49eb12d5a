// Problems and counts, which the program can read after a launch.

#include "emulator/trace/report.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <tuple>
#include <utility>

#include "emulator/trace/lines.h"
#include "emulator/trace/sites.h"

namespace emulator {

Counts totals;
uint64_t resets;

namespace {

constexpr unsigned kMaxProblems = 20;

struct Problems {
    std::vector<Conflict> conflicts;  // one for each pair of instructions
    std::vector<std::string> others;
} problems;

int silences;  // how many exist

std::vector<std::string> all_problems(bool counted);

std::string described(const Conflict& c) {
    const auto does = [](trace::Kind kind) {
        return kind == trace::kRead ? " reads" : kind == trace::kWrite ? " writes" : " adds to";
    };
    const std::string& second = site_of(c.second).where;
    const std::string who = " (" + c.who + ")";
    if (c.first == 0)
        return c.global ? "uninitialised device memory: " + second + does(c.second_kind) +
                              " what nobody has written" + who
                        : "uninitialised shared memory: " + second + does(c.second_kind) +
                              " what no thread of the block has written" + who +
                              (c.why.empty() ? "" : ": " + c.why);
    const std::string& first = site_of(c.first).where;
    if (c.missing == Conflict::wait)
        return "asynchronous copy: " + second + does(c.second_kind) +
               (c.second_kind == trace::kRead ? " what" : " where") + " the copy at " + first +
               (c.second_kind == trace::kRead ? " has not brought yet" : " has yet to write") +
               who + ": " + c.why;
    if (c.missing == Conflict::fence)
        return "no fence_proxy_async() after " + first + does(c.first_kind) + " what " + second +
               does(c.second_kind) + " asynchronously" + who;
    return std::string("race in ") + (c.global ? "global" : "shared") + " memory: " + first +
           does(c.first_kind) + " what " + second + does(c.second_kind) + who;
}

}  // namespace

std::string describe(const Conflict& conflict) { return folders_once(described(conflict)); }

bool printed_at_exit() {
    static const bool printed = std::getenv("EMULATOR_SUMMARY");
    return printed;
}

void (*print_summary)(int, void*);
// What the summary uses must be created before this function is registered, so that it still exists
// when the program ends. Therefore this is done at the program's first call, and not before main().
void print_at_exit() {
    static bool registered = false;
    if (!printed_at_exit() || !print_summary || std::exchange(registered, true)) return;
    counts();
    on_exit(print_summary, nullptr);
}

void report_problem(const std::string& problem) {
    print_at_exit();
    problems.others.push_back(folders_once(problem));
}
void report_once(const std::string& problem, const std::string& who) {
    const std::string head = folders_once(problem) + " (";
    for (const std::string& other : problems.others)
        if (other.compare(0, head.size(), head) == 0) return;
    report_problem(problem + " (" + who + ")");
}
void report_aloud(const std::string& problem) {
    report_problem(problem);
    if (silences || printed_at_exit()) return;
    std::fprintf(stderr, "emulator: %s\n", with_lines(problems.others.back()).c_str());
}

Silence::Silence() { ++silences; }
Silence::~Silence() { --silences; }

std::string with_lines(const std::string& problem) { return problem + quoted_lines(problem); }

Conflict* report_conflict(Conflict conflict, const std::function<std::string()>& who) {
    for (Conflict& c : problems.conflicts) {
        if (c.global != conflict.global || c.first != conflict.first ||
            c.second != conflict.second || c.missing != conflict.missing)
            continue;
        // An access may conflict with several before it, in several cells.
        c.times += c.address != conflict.address || c.second_thread != conflict.second_thread;
        c.address = conflict.address;
        c.second_thread = conflict.second_thread;
        return nullptr;
    }
    conflict.who = who();
    problems.conflicts.push_back(conflict);
    return &problems.conflicts.back();
}

namespace {

// To a reader all pairs of accesses by two lines are one problem: those of an unrolled loop, and
// those in which the other line came first. The one that is shown says that a wait is missing, or
// else has a write as its first access, if there is such a pair. counted: the text says how many
// there were.
std::vector<std::string> all_problems(bool counted) {
    std::vector<std::string> all = problems.others;
    if (!problems.conflicts.empty()) find_lines_of_sites();
    using Side = std::pair<std::string, trace::Kind>;
    struct Pair {
        Side first, second;
        const Conflict* shown;
        uint64_t times;
    };
    std::vector<Pair> pairs;
    for (const Conflict& c : problems.conflicts) {
        const Side first{c.first ? site_of(c.first).where : "", c.first_kind};
        const Side second{site_of(c.second).where, c.second_kind};
        const auto known = std::find_if(pairs.begin(), pairs.end(), [&](const Pair& p) {
            const bool same = p.first == first && p.second == second;
            return (same || (p.first == second && p.second == first)) &&
                   p.shown->global == c.global &&
                   (p.shown->missing == Conflict::fence) == (c.missing == Conflict::fence);
        });
        if (known == pairs.end()) {
            pairs.push_back({first, second, &c, c.times});
            continue;
        }
        known->times += c.times;
        const auto says_more = [](const Conflict& c) {
            return std::pair(c.missing == Conflict::wait, c.first_kind == trace::kWrite);
        };
        if (says_more(*known->shown) < says_more(c)) known->shown = &c;
    }
    // Races come first: where a barrier is missing, they say more than that the memory was not yet
    // written.
    std::stable_partition(pairs.begin(), pairs.end(),
                          [](const Pair& pair) { return pair.shown->first != 0; });
    for (const Pair& pair : pairs)
        all.push_back(describe(*pair.shown) +
                      (counted && pair.times > 1
                           ? ", and " + std::to_string(pair.times - 1) + " more like it"
                           : ""));
    return all;
}

}  // namespace

std::vector<std::string> problems_uncounted() { return all_problems(false); }

void reset_counts() {
    totals = Counts();
    problems = Problems();
    ++resets;
    for (Site& site : all_sites()) {
        site.bytes = site.requests = site.cost = site.ideal = 0;
        site.address = 0;
    }
}

const Counts& counts() {
    static Counts result;
    result = totals;
    for (const Site& site : all_sites()) {
        uint64_t none = 0;
        const auto add = [&](uint64_t& bytes, uint64_t& requests, uint64_t& cost, uint64_t& ideal) {
            bytes += site.bytes;
            requests += site.requests;
            cost += site.cost;
            ideal += site.ideal;
        };
        Counts& r = result;
        if (site.global && site.store)
            add(r.global_store_bytes, r.global_store_requests, r.global_store_sectors, none);
        else if (site.global)
            add(r.global_load_bytes, r.global_load_requests, r.global_load_sectors, none);
        else if (site.store)
            add(r.shared_store_bytes, r.shared_store_requests, r.shared_store_wavefronts,
                r.shared_store_ideal);
        else
            add(r.shared_load_bytes, r.shared_load_requests, r.shared_load_wavefronts,
                r.shared_load_ideal);
    }

    const std::vector<std::string> all = all_problems(true);
    const size_t shown = std::min<size_t>(all.size(), kMaxProblems);
    result.problems.assign(all.begin(), all.begin() + shown);
    if (all.size() > shown)
        result.problems.push_back("... and " + std::to_string(all.size() - shown) + " more");
    return result;
}

std::vector<Line> lines() {
    find_lines_of_sites();
    std::vector<Line> found;
    std::map<std::tuple<std::string, int, bool, bool>, size_t> numbers;
    for (const Site& site : all_sites()) {
        if (site.requests == 0) continue;
        const auto [place, is_new] = numbers.emplace(
            std::tuple(site.where, site.width, site.global, site.store), found.size());
        if (is_new) found.push_back({site.where, site.global, site.store, site.width, 0, 0, 0});
        Line& line = found[place->second];
        line.requests += site.requests;
        line.sectors_or_wavefronts += site.cost;
        line.ideal += site.ideal;
    }
    return found;
}

std::vector<std::string> lines_that_access(const void* begin, size_t bytes, bool store) {
    find_lines_of_sites();
    std::vector<std::string> found;
    for (const Site& site : all_sites())
        if (site.global && site.store == store &&
            site.address - reinterpret_cast<uintptr_t>(begin) < bytes &&
            std::count(found.begin(), found.end(), site.where) == 0)
            found.push_back(site.where);
    return found;
}

}  // namespace emulator
