// How reports describe an mbarrier, and hints at the cause of a mistake there.

#include "emulator/hopper/mbarrier_hints.h"

#include <algorithm>

#include "emulator/engine/names.h"
#include "emulator/hopper/ranks.h"
#include "emulator/trace/lines.h"
#include "emulator/trace/shared_names.h"
#include "emulator/trace/symbols.h"

namespace emulator {

std::string at_site(const Call& site) { return " at " + site_name(site); }

std::string with_unit(int64_t n, const char* unit) {
    return std::to_string(n) + " " + unit + (n == 1 ? "" : "s");
}

unsigned owning_rank(const Mbarrier& b) {
    if (run.ranks == 1) return 0;
    const auto address = reinterpret_cast<char*>(b.memory);
    return unsigned(size_t(address - static_cast<char*>(run.shared)) / run.shared_stride);
}

std::string name_in_rank(const Mbarrier& barrier) {
    const auto address = reinterpret_cast<uintptr_t>(barrier.memory);
    const size_t offset = address - reinterpret_cast<uintptr_t>(run.shared);
    const std::string argument = call_argument(site_name(barrier.site), "mbarrier_init", 0);
    const SharedArray* const array = shared_names::array_at(address);
    if (array && array->extents.element == sizeof *barrier.memory &&
        (!array->pointer || argument.empty() || argument.find(array->name) != argument.npos))
        return "mbarrier " + shared_names::element_at(address);
    const bool dynamic = offset < run.ranks * run.shared_stride;
    if (const Symbol* const symbol = dynamic ? nullptr : find_symbol(address)) {
        const std::string index = "[" + std::to_string((address - symbol->begin) / 8) + "]";
        return "mbarrier " + short_name(*symbol) + (symbol->size > 8 ? index : "");
    }
    return "the mbarrier " + (argument.empty() ? "" : argument + " ") + "at byte " +
           std::to_string(offset % run.shared_stride) + " of dynamic shared memory";
}

// "mbarrier full[1]", in a cluster with " of rank 2". If the kernel has no name for the place, or
// has reached it by another pointer than the array before it, the argument of mbarrier_init().
std::string name_of(const Mbarrier& barrier) {
    return name_in_rank(barrier) +
           (run.ranks > 1 ? " of rank " + std::to_string(owning_rank(barrier)) : "");
}

std::string arrival_count_hint(const Mbarrier& b) {
    return "is the " + std::to_string(b.arrivals) + " of its mbarrier_init()" + at_site(b.site) +
           " less than the arrivals of a phase, or does the thread leave out a wait?";
}

namespace {

std::string wait_at(const Waited& w) {
    return "the wait" + at_site(w.site) + " on " + name_of(*w.barrier);
}

// "by the cp_async_bulk_tensor at mine.cu:31": the loads that have completed in this phase. In a
// cluster with the ranks of their threads.
std::string landed_from(const Mbarrier& b) {
    std::vector<std::pair<const TensorCopy*, unsigned>> lines;  // the first one of each line; ranks
    for (const TensorCopy& load : b.landed) {
        auto line = std::find_if(lines.begin(), lines.end(), [&](const auto& each) {
            return same_site(each.first->site, load.site);
        });
        if (line == lines.end()) line = lines.insert(line, {&load, 0});
        line->second |= 1u << rank_of(load.thread);
    }
    std::string text;
    for (const auto& [load, ranks] : lines) {
        text += (text.empty() ? "by the " : " and the ") + std::string(load->name) +
                at_site(load->site);
        if (run.ranks > 1)
            text +=
                " of " + (ranks == 1u << owning_rank(b) ? "its own rank alone" : rank_names(ranks));
    }
    return text;
}

// "threads 32 to 63 at mine.cu:40 and thread 0 at mine.cu:30"
std::string who(const std::vector<Arrival>& arrivals) {
    std::vector<std::pair<Call, std::vector<unsigned>>> lines;
    for (const Arrival& arrival : arrivals) {
        auto line = std::find_if(lines.begin(), lines.end(), [&](const auto& each) {
            return same_site(each.first, arrival.site);
        });
        if (line == lines.end()) line = lines.insert(line, {arrival.site, {}});
        line->second.push_back(arrival.thread);
    }
    std::string text;
    for (auto& [site, threads] : lines) {
        std::sort(threads.begin(), threads.end());
        text += (text.empty() ? "" : " and ") + thread_names(threads) + at_site(site);
    }
    return text;
}

std::vector<Arrival> only_arrivals(std::vector<Arrival> all) {
    all.erase(std::remove_if(all.begin(), all.end(), [](const Arrival& a) { return !a.count; }),
              all.end());
    return all;
}

// "1 of 2 arrivals have been made (thread 0 at mine.cu:12)"
std::string arrivals_of(const Mbarrier& b) {
    const int arrived = b.arrivals - b.pending;
    const std::string n = std::to_string(b.arrivals);
    if (arrived == 0)
        return b.arrivals == 1 ? "its arrival has not been made"
                               : "none of " + n + " arrivals has been made";
    return (b.arrivals == 1 ? "its arrival has"
            : b.pending     ? std::to_string(arrived) + " of " + n + " arrivals have"
                            : "all " + n + " arrivals have") +
           std::string(" been made (") + who(only_arrivals(b.arrived)) + ")";
}

// Who would complete the phase: the threads that arrived in the phase before, or else at another
// mbarrier of the same mbarrier_init(), and have not done so in this phase. "": no thread has
// arrived at any of them.
std::string missing_of(const Mbarrier& b, const Mbarriers& all) {
    if (b.pending == 0) return "";
    const auto latest = [](const Mbarrier& other) {
        return only_arrivals(other.arrived_before.empty() ? other.arrived : other.arrived_before);
    };
    const Mbarrier* model = &b;
    for (const auto& [memory, other] : all)
        if (b.arrived_before.empty() && same_site(other.site, b.site) &&
            owning_rank(other) == owning_rank(b) && latest(other).size() > latest(*model).size())
            model = &other;
    const std::vector<Arrival> arrived = only_arrivals(b.arrived);
    std::vector<Arrival> missing = latest(*model);
    const auto is_here = [&](const Arrival& one) {
        return std::any_of(arrived.begin(), arrived.end(),
                           [&](const Arrival& other) { return other.thread == one.thread; });
    };
    missing.erase(std::remove_if(missing.begin(), missing.end(), is_here), missing.end());
    if (missing.empty())
        return arrived.empty() ? ""
                               : ", and no other thread has ever arrived: is the " +
                                     std::to_string(b.arrivals) +
                                     " of its mbarrier_init() more than the arrivals of a phase?";
    std::vector<unsigned> threads;
    for (const Arrival& arrival : missing) threads.push_back(arrival.thread);
    std::sort(threads.begin(), threads.end());
    threads.erase(std::unique(threads.begin(), threads.end()), threads.end());
    return "; missing is that of " + who(missing) + ", which was made " +
           (model == &b ? "in the phase before" : "at " + name_of(*model)) + ": " +
           describe_waits(threads);
}

}  // namespace

std::string describe_stale_wait(const Mbarrier& b, const Waited& before) {
    const bool here = b.stale.barrier && (b.stale.again || b.has_loads);
    const Waited& w = here ? b.stale : before.again ? before : b.before_arrival;
    if (!w.barrier) {  // or before an arrival that the last wait was for
        const bool other = before.barrier && before.barrier != &b;
        return other ? describe_stale_wait(*before.barrier, {}) : "";
    }
    return wait_at(w) + " by " + thread_name(w.thread) + ", for parity " +
           std::to_string(w.phase & 1) + ", returned at once: that is the parity of " +
           (w.phase < 0 ? "the phase before the first" : "phase " + std::to_string(w.phase)) +
           (w.again ? ", for which the thread had waited before" : "");
}

std::string wait_hint(const Mbarrier& b, const Waited& before) {
    const std::string stale = describe_stale_wait(b, before);
    if (!stale.empty() || !before.barrier || before.barrier == &b || before.phase < 0) return stale;
    const std::string who =
        before.ranks == 1u << rank_of(before.thread) ? "its own block" : rank_names(before.ranks);
    return "the last wait of " + thread_name(before.thread) + " before that," +
           at_site(before.site) + " on " + name_of(*before.barrier) + ", returned after the " +
           with_unit(before.barrier->arrivals, "arrival") + " of its mbarrier_init()" +
           at_site(before.barrier->site) + (run.ranks > 1 ? ", all from " + who : "");
}

std::string with_init_site(const Mbarrier& b, const std::string& hint) {
    return (hint.empty() ? "its mbarrier_init()"
                         : hint + "; the mbarrier_init() of " + name_of(b)) +
           " is" + at_site(b.site);
}

std::string describe_expected_bytes(const std::vector<Arrival>& arrivals) {
    int64_t bytes = 0;
    std::vector<Arrival> stated;
    for (const Arrival& arrival : arrivals)
        if (arrival.bytes) {
            bytes += arrival.bytes;
            stated.push_back(arrival);
        }
    if (stated.empty()) return "";
    return "the " + with_unit(bytes, "byte") + " that are expected by " + who(stated);
}

// A circular buffer whose first round cannot begin: the producer waits for empty stages, and the
// consumers wait for full ones. "": a phase has begun, or all threads wait for mbarriers of one
// mbarrier_init().
std::string first_phase_hint(const Mbarriers& all) {
    const Mbarrier* one = nullptr;
    bool several = false;
    for (const auto& [memory, b] : all) {
        if (threads_that([&b = b](const Thread& t) { return t.waits(&b); }).empty()) continue;
        if (b.phase || !b.arrived.empty() || !b.landed.empty()) return "";
        several |= one && !same_site(one->site, b.site);
        one = &b;
    }
    return several
               ? "\n  no thread has arrived at any of them: one of the waits must return at once in "
                 "the first round, as one for parity 1 does, the parity of the phase before the first"
               : "";
}

std::string describe_bytes(const Mbarrier& b) {
    int64_t expected = 0;
    for (const Arrival& arrival : b.arrived) expected += arrival.bytes;
    const int64_t arrived = expected - b.bytes;
    if (expected == 0 && arrived == 0) return "";
    const std::string from = landed_from(b);
    const std::string have = " have arrived" + (from.empty() ? "" : " (" + from + ")");
    if (arrived <= expected)
        return std::to_string(arrived) + " of " + describe_expected_bytes(b.arrived) + have;
    return with_unit(arrived, "byte") + have + ", " +
           (expected ? std::to_string(-b.bytes) + " more than " + describe_expected_bytes(b.arrived)
            : b.expects ? "and none are expected in this phase"
                        : std::string("but ") + kNothingExpected);
}

std::string describe_state(const Mbarrier& b, unsigned waiting, const Mbarriers& all) {
    const std::string stale = describe_stale_wait(b, {}), bytes = describe_bytes(b);
    return ", initialised" + at_site(b.site) + ": phase " + std::to_string(b.phase) + ", " +
           with_unit(waiting, "thread") + " waiting; " + arrivals_of(b) + missing_of(b, all) +
           (bytes.empty() ? "" : "; ") + bytes + (stale.empty() ? "" : "; " + stale);
}

}  // namespace emulator
