// Problems and counts, which the program can read after a launch.

#include "emulator/trace/report.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <tuple>
#include <utility>

#include "emulator/trace/half_sums.h"
#include "emulator/trace/hazards.h"
#include "emulator/trace/lines.h"
#include "emulator/trace/sites.h"

namespace emulator {

Counts totals;
uint64_t resets;

namespace {

constexpr unsigned kMaxProblems = 20;

std::vector<std::string> problems;  // without the hazards
std::map<std::string, int> repeated;  // problem -> how often it was reported after the first time
std::vector<std::string> notes;
int silences;  // Silence objects that exist
bool is_used;  // the program has called something of CUDA's

}  // namespace

bool printed_at_exit() {
    static const bool printed = std::getenv("EMULATOR_SUMMARY");
    return printed;
}

void (*print_summary)(int, void*);
void print_at_exit() { is_used = true; }
// What is registered first is called last: after the destructors of the program's global objects,
// which may still free memory, and before those of this library's, which are constructed by now
// (CMakeLists.txt).
[[gnu::constructor(201)]] static void register_summary() {
    on_exit(
        [](int code, void*) {
            if (is_used && printed_at_exit() && print_summary) print_summary(code, nullptr);
        },
        nullptr);
}

void report_problem(const std::string& problem) {
    print_at_exit();
    const std::string text = folders_once(problem);
    if (std::count(problems.begin(), problems.end(), text)) ++repeated[text];
    else problems.push_back(text);
}
void report_once(const std::string& problem, const std::string& who) {
    const std::string head = folders_once(problem) + " (";
    for (const std::string& other : problems)
        if (other.compare(0, head.size(), head) == 0) return;
    report_problem(problem + " (" + who + ")");
}
void report_note(const std::string& what, const std::string& why) {
    print_at_exit();
    const std::string head = folders_once(what) + ": ";
    for (const std::string& note : notes)
        if (note.compare(0, head.size(), head) == 0) return;
    notes.push_back(head + why);
}
void report_and_print(const std::string& problem) {
    report_problem(problem);
    if (silences || printed_at_exit()) return;
    std::fprintf(stderr, "emulator: %s\n", with_lines(folders_once(problem)).c_str());
}

Silence::Silence() { ++silences; }
Silence::~Silence() { --silences; }

std::string with_lines(const std::string& problem) { return problem + quoted_lines(problem); }

// counted: the texts say how many there were.
static std::vector<std::string> all_problems(bool counted) {
    std::vector<std::string> all = problems;
    if (counted)
        for (std::string& problem : all)
            if (const auto more = repeated.find(problem); more != repeated.end())
                problem += ", and " + std::to_string(more->second) + " more like it";
    for (const std::string& each : described_hazards(counted)) all.push_back(each);
    return all;
}
std::vector<std::string> problems_uncounted() { return all_problems(false); }

void reset_counts() {
    totals = Counts();
    problems.clear();
    repeated.clear();
    notes.clear();
    forget_hazards();
    ++resets;
    half_sums::reset();
    for (Site& site : all_sites()) {
        site.bytes = site.requests = site.cost = site.ideal = 0;
        site.address = 0;
    }
}

const Counts& counts() {
    static Counts& result = *new Counts;  // never destroyed: it is printed at exit
    result = totals;
    for (const Site& site : all_sites()) {
        uint64_t unused = 0;
        const auto add = [&](uint64_t& bytes, uint64_t& requests, uint64_t& cost, uint64_t& ideal) {
            bytes += site.bytes;
            requests += site.requests;
            cost += site.cost;
            ideal += site.ideal;
        };
        Counts& r = result;
        if (site.global && site.store)
            add(r.global_store_bytes, r.global_store_requests, r.global_store_sectors, unused);
        else if (site.global)
            add(r.global_load_bytes, r.global_load_requests, r.global_load_sectors, unused);
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
    result.notes = notes;
    for (const std::string& each : described_harmless()) result.notes.push_back(each);
    for (const std::string& note : half_sums::notes()) result.notes.push_back(note);
    return result;
}

std::vector<Line> lines() {
    find_lines_of_sites();
    std::vector<Line> found;
    std::map<std::tuple<std::string, int, bool, bool>, size_t> index_of;
    for (const Site& site : all_sites()) {
        if (site.requests == 0) continue;
        const auto [place, is_new] = index_of.emplace(
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
