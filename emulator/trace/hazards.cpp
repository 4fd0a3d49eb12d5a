// Which hazards have one cause, and how it is reported.

#include "emulator/trace/hazards.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "emulator/trace/lines.h"
#include "emulator/trace/symbols.h"

namespace emulator {
namespace {

std::vector<Hazard> hazards;  // one for each pair of instructions

// Where a line stands in the order of a kernel's statements: file and line of each call from the
// kernel inwards.
using Position = std::vector<std::pair<std::string, int>>;
constexpr int kNextRound = 1 << 24;  // lines

// In a loop, the lines up to the barrier after which the accesses took place come after the others.
Position position_of(const Site& site, const std::string& since) {
    Position position;
    const auto parsed = [](const std::string& place) {
        const size_t colon = place.rfind(':');
        return std::pair(place.substr(0, colon), std::atoi(place.c_str() + colon + 1));
    };
    for (const std::string& place : site.inlined_at) position.push_back(parsed(place));
    std::reverse(position.begin(), position.end());
    position.push_back(parsed(site.where));
    const auto barrier = parsed(since);
    auto& [file, line] = position[0];
    if (file == barrier.first && line <= barrier.second) line += kNextRound;
    return position;
}

// Whether one of the two is the read before a loop of atomicCAS() on the same pointer, as in the CUDA
// programming guide's atomicAdd() of doubles: a guess, which the compare-and-swap checks.
bool is_guess(const Hazard& h) {
    const bool first_reads = h.first_kind == trace::kRead,
               second_reads = h.second_kind == trace::kRead;
    const bool atomic = h.first_kind == trace::kAtomic || h.second_kind == trace::kAtomic;
    if (h.first == 0 || !atomic || first_reads == second_reads) return false;
    const std::string& read = site_of(first_reads ? h.first : h.second).where;
    const std::string& atomic_at = site_of(first_reads ? h.second : h.first).where;
    std::string compared = call_argument(atomic_at, "atomicCAS", 0);
    if (compared.empty()) return false;
    compared = compared[0] == '&' ? compared.substr(1) : "*" + compared;
    return source_line(read).find(compared) != std::string::npos;
}

// A missing wait says most, then a write of what is read, then any write. Stores of the same value
// say least.
int worth(const Hazard& h) {
    if (h.missing == Hazard::nothing || is_guess(h)) return -1;
    if (h.missing == Hazard::wait) return 3;
    if (h.first_kind != trace::kWrite) return 0;
    return h.second_kind == trace::kRead ? 2 : 1;
}

// To a reader all hazards of two lines are one: those of an unrolled loop, and those in which the
// other line came first.
struct Pair {
    std::string lines[2];  // sorted; the first is "" for an uninitialised read
    const Hazard* shown;
    uint64_t times;
    bool unexplained, both_write;
    Position begin, end;
    const Symbol* function[2];

    bool uninitialised() const { return shown->first == 0; }
    bool harmless() const { return worth(*shown) < 0; }
    bool one_line() const { return lines[0] == lines[1]; }
    bool has(const std::string& line) const { return lines[0] == line || lines[1] == line; }
    bool ordered() const { return function[0] && function[0] == function[1]; }  // as statements
};

std::vector<Pair> pairs_of_lines() {
    std::vector<Pair> pairs;
    for (const Hazard& h : hazards) {
        std::string first = h.first ? site_of(h.first).where : "", second = site_of(h.second).where;
        if (second < first) std::swap(first, second);
        const bool both_write = h.first_kind == trace::kWrite && h.second_kind == trace::kWrite;
        const auto known = std::find_if(pairs.begin(), pairs.end(), [&](const Pair& p) {
            return p.lines[0] == first && p.lines[1] == second && p.shown->global == h.global &&
                   p.shown->same_block == h.same_block &&
                   (p.shown->missing == Hazard::fence) == (h.missing == Hazard::fence);
        });
        if (known != pairs.end()) {
            known->times += h.times;
            known->unexplained |= h.unexplained;
            known->both_write |= both_write;
            if (worth(*known->shown) < worth(h)) known->shown = &h;
            continue;
        }
        pairs.push_back({{first, second}, &h, h.times, h.unexplained, both_write, {}, {}, {}});
    }
    for (Pair& pair : pairs) {
        const Hazard& h = *pair.shown;
        if (!h.in_interval) continue;
        pair.begin = position_of(site_of(h.first), h.since);
        pair.end = position_of(site_of(h.second), h.since);
        if (pair.end < pair.begin) std::swap(pair.begin, pair.end);
        pair.function[0] = find_symbol(site_of(h.first).pc);
        pair.function[1] = find_symbol(site_of(h.second).pc);
    }
    return pairs;
}

// Whether one missing barrier can explain both: it would stand between the lines of either pair, or
// the two pairs are of one array and share a line.
bool related(const Pair& a, const Pair& b) {
    if (!a.shown->in_interval || !b.shown->in_interval) return false;
    if (a.shown->global != b.shown->global || a.shown->since != b.shown->since) return false;
    if (a.shown->array == b.shown->array && (a.has(b.lines[0]) || a.has(b.lines[1]))) return true;
    return a.ordered() && b.ordered() && a.function[0] == b.function[0] &&
           std::max(a.begin, b.begin) < std::min(a.end, b.end);
}

// The pairs of one report, each of which may have others that the same barrier would order.
struct Fault {
    std::vector<const Pair*> pairs;

    // The pairs to name: as few as possible so that a barrier in each of them orders all, for each
    // array one, in the order of the statements. An access that conflicts with itself in another
    // thread is needed, too: no barrier between two statements helps it.
    std::vector<const Pair*> needed() const {
        std::vector<const Pair*> sorted = pairs, needed, within;
        const auto rank = [](const Pair* p) { return !(p->one_line() && p->both_write); };
        std::stable_sort(sorted.begin(), sorted.end(), [&](const Pair* a, const Pair* b) {
            if (rank(a) != rank(b)) return rank(a) < rank(b);
            return a->end != b->end ? a->end < b->end : b->begin < a->begin;
        });
        const Position* barrier = nullptr;  // a barrier just before this statement
        std::vector<std::string> arrays;  // of the pairs that it orders
        for (const Pair* p : sorted) {
            if (p->one_line()) {
                (p->both_write ? needed : within).push_back(p);
            } else if (p->ordered() && barrier && p->begin < *barrier) {
                if (std::count(arrays.begin(), arrays.end(), p->shown->array)) continue;
                arrays.push_back(p->shown->array);
                needed.push_back(p);
            } else {
                if (p->ordered()) barrier = &p->end;
                arrays = {p->shown->array};
                needed.push_back(p);
            }
        }
        needed.insert(needed.end(), within.begin(), within.end());
        return needed;
    }
};

std::string described(const Hazard& h) {
    const auto does = [](trace::Kind kind) {
        return kind == trace::kRead ? " reads" : kind == trace::kWrite ? " writes" : " adds to";
    };
    const std::string& second = site_of(h.second).where;
    const std::string who = " (" + h.who + ")";
    if (h.first == 0)
        return h.global ? "uninitialised device memory: " + second + does(h.second_kind) +
                              " what nothing has written" + who
                        : "uninitialised shared memory: " + second + does(h.second_kind) +
                              " what no thread of the block has written" + who +
                              (h.why.empty() ? "" : ": " + h.why);
    const std::string& first = site_of(h.first).where;
    if (h.missing == Hazard::wait)
        return "asynchronous copy: " + second + does(h.second_kind) +
               (h.second_kind == trace::kRead ? " what" : " where") + " the copy at " + first +
               (h.second_kind == trace::kRead ? " has not written yet" : " has yet to write") +
               who + ": " + h.why;
    if (h.missing == Hazard::fence)
        return first + does(h.first_kind) + " what " + second + does(h.second_kind) +
               " asynchronously, without a fence_proxy_async() between" + who;
    const std::string head = h.missing == Hazard::nothing ? "same value in "
                             : is_guess(h)                ? "benign race in "
                                                          : "race in ";
    return head + (h.global ? "global" : "shared") + " memory: " + first + does(h.first_kind) +
           " what " + second + does(h.second_kind) + who;
}

// consequences: uninitialised reads that the race explains.
std::string described(const Fault& fault, const std::vector<const Pair*>& consequences,
                      bool counted) {
    constexpr size_t kNamed = 4;
    const std::vector<const Pair*> needed = fault.needed();
    const Pair& head = *needed[0];
    std::string text = described(*head.shown);
    uint64_t times = 0;
    for (const Pair* pair : fault.pairs) times += pair->times;
    if (counted && times > 1) text += ", and " + std::to_string(times - 1) + " more like it";
    const size_t named = std::min(needed.size(), kNamed), left = fault.pairs.size() - named;
    for (size_t i = 1; i < named; ++i) {
        const Pair& pair = *needed[i];
        text += i == 1 ? "; the same " : i + 1 == named && !left ? " and " : ", ";
        text += pair.one_line() ? "within " + pair.lines[0]
                                : "between " + pair.lines[0] + " and " + pair.lines[1];
        if (pair.shown->array != head.shown->array) text += " (" + pair.shown->array + ")";
    }
    if (left)
        text += (named > 1 ? " and " : "; the same between ") + std::to_string(left) +
                (left == 1 ? " more pair of lines" : " more pairs of lines");
    if (head.shown->missing == Hazard::nothing)
        text += ": as both store the same value, their order does not matter";
    else if (is_guess(*head.shown)) text += ": the read is a guess, which atomicCAS() checks";
    for (const Pair* read : consequences) {
        text += "; so " + read->lines[1] + " also reads uninitialised shared memory";
        if (counted && read->times > 1) text += ", " + std::to_string(read->times) + " times";
    }
    return folders_once(text);
}

}  // namespace

std::string describe(const Hazard& hazard) { return folders_once(described(hazard)); }

Hazard* report_hazard(Hazard hazard, const std::function<std::string()>& who) {
    for (Hazard& h : hazards) {
        if (h.global != hazard.global || h.first != hazard.first || h.second != hazard.second ||
            h.missing != hazard.missing)
            continue;
        // An access may conflict with several before it, in several cells.
        h.times += h.address != hazard.address || h.second_thread != hazard.second_thread;
        h.address = hazard.address;
        h.second_thread = hazard.second_thread;
        return nullptr;
    }
    hazard.who = who();
    hazards.push_back(hazard);
    return &hazards.back();
}

void report_unexplained(uint16_t site) {
    for (Hazard& h : hazards) h.unexplained |= h.first == 0 && h.second == site;
}
bool is_unexplained(uint16_t site) {
    return std::any_of(hazards.begin(), hazards.end(), [&](const Hazard& h) {
        return h.first == 0 && h.second == site && h.unexplained;
    });
}
void forget_hazards() { hazards.clear(); }

// Races come first: where a barrier is missing, they say more than that the memory was not yet
// written.
std::vector<std::string> described_hazards(bool counted) {
    if (hazards.empty()) return {};
    find_lines_of_sites();
    const std::vector<Pair> pairs = pairs_of_lines();
    std::vector<Fault> faults;
    std::vector<const Pair*> unwritten;
    for (const Pair& pair : pairs) {
        if (pair.harmless()) continue;
        if (pair.uninitialised()) {
            unwritten.push_back(&pair);
            continue;
        }
        Fault joined{{&pair}};
        const auto first = std::stable_partition(faults.begin(), faults.end(), [&](const Fault& f) {
            return std::none_of(f.pairs.begin(), f.pairs.end(),
                                [&](const Pair* p) { return related(*p, pair); });
        });
        for (auto f = first; f != faults.end(); ++f)
            joined.pairs.insert(joined.pairs.begin(), f->pairs.begin(), f->pairs.end());
        faults.erase(first, faults.end());
        faults.push_back(joined);
    }
    // In the order in which they were found.
    std::sort(faults.begin(), faults.end(), [](const Fault& a, const Fault& b) {
        return *std::min_element(a.pairs.begin(), a.pairs.end()) <
               *std::min_element(b.pairs.begin(), b.pairs.end());
    });
    std::vector<std::string> all;
    for (const Fault& fault : faults) {
        std::vector<const Pair*> consequences;
        for (const Pair*& read : unwritten)
            if (read && !read->unexplained && !read->shown->global &&
                std::any_of(fault.pairs.begin(), fault.pairs.end(), [&](const Pair* p) {
                    return !p->shown->global && p->has(read->lines[1]);
                }))
                consequences.push_back(std::exchange(read, nullptr));
        all.push_back(described(fault, consequences, counted));
    }
    for (const Pair* read : unwritten)
        if (read) all.push_back(described({{read}}, {}, counted));
    return all;
}

std::vector<std::string> described_harmless() {
    if (hazards.empty()) return {};
    find_lines_of_sites();
    std::vector<std::string> all;
    for (const Pair& pair : pairs_of_lines())
        if (pair.harmless()) all.push_back(described({{&pair}}, {}, true));
    return all;
}

}  // namespace emulator
