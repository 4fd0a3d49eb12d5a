// How reports describe an mbarrier, and hints at the cause of a mistake there.

#include "emulator/hopper/mbarrier_hints.h"

#include "emulator/engine/names.h"
#include "emulator/hopper/ranks.h"
#include "emulator/trace/lines.h"
#include "emulator/trace/shared_names.h"
#include "emulator/trace/symbols.h"

namespace emulator {

std::string at_site(const Call& site) { return " at " + site_name(site); }

std::string counted(int64_t n, const char* what) {
    return std::to_string(n) + " " + what + (n == 1 ? "" : "s");
}

unsigned rank_with(const Mbarrier& b) {
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
           (run.ranks > 1 ? " of rank " + std::to_string(rank_with(barrier)) : "");
}

// A hint why a phase may end before a thread that waits for an earlier one has gone on.
std::string too_fast(const Mbarrier& b) {
    return "is the " + std::to_string(b.arrivals) + " of its mbarrier_init()" + at_site(b.site) +
           " less than the arrivals of a phase, or does the thread leave out a wait?";
}

namespace {

std::string wait_at(const Waited& w) {
    return "the wait" + at_site(w.site) + " on " + name_of(*w.barrier);
}

// In a cluster where bytes of the phase are missing: whose loads have arrived.
std::string came_from(const Mbarrier& b) {
    if (run.ranks == 1) return "";
    unsigned from = 0;
    for (const TensorCopy& load : b.landed) from |= 1u << rank_of(load.thread);
    if (!from) return " (none has come)";
    const std::string whose = from == 1u << rank_with(b) ? "its own rank alone" : rank_names(from);
    return " (some have come, by the " + std::string(b.landed[0].name) + at_site(b.landed[0].site) +
           " of " + whose + ")";
}

}  // namespace

// Describes a wait that returned at once, or "".
std::string stale_wait(const Mbarrier& b, const Waited& before) {
    const bool here = b.stale.barrier && (b.stale.again || b.has_loads);
    const Waited& w = here ? b.stale : before.again ? before : b.before_arrival;
    if (!w.barrier) return "";
    return wait_at(w) + " by " + thread_name(w.thread) + ", for parity " +
           std::to_string(w.phase & 1) + ", was over at once: that is the parity of " +
           (w.phase < 0 ? "the phase before the first" : "phase " + std::to_string(w.phase)) +
           (w.again ? ", for which the thread had waited before" : "");
}

std::string suspect(const Mbarrier& b, const Waited& before) {
    const std::string stale = stale_wait(b, before);
    if (!stale.empty() || !before.barrier || before.barrier == &b || before.phase < 0) return stale;
    const std::string who =
        before.ranks == 1u << rank_of(before.thread) ? "its own block" : rank_names(before.ranks);
    return "the last wait of " + thread_name(before.thread) + " before that," +
           at_site(before.site) + " on " + name_of(*before.barrier) + ", was over after the " +
           counted(before.barrier->arrivals, "arrival") + " of its mbarrier_init()" +
           at_site(before.barrier->site) + (run.ranks > 1 ? ", all from " + who : "");
}

std::string init_and(const Mbarrier& b, const std::string& more) {
    return (more.empty() ? "its mbarrier_init()"
                         : more + "; the mbarrier_init() of " + name_of(b)) +
           " is" + at_site(b.site);
}

std::string state_of(const Mbarrier& b, unsigned waiting) {
    const std::string why = b.expects ? "" : std::string(" (") + kNothingExpected + ")";
    const std::string bytes =
        b.bytes < 0 ? counted(-b.bytes, "byte") + " more than expected have come" + why
                    : counted(b.bytes, "expected byte") + " to come";
    const std::string stale = stale_wait(b, {});
    return ", set up" + at_site(b.site) + ": phase " + std::to_string(b.phase) + ", " +
           std::to_string(b.pending) + " of " + std::to_string(b.arrivals) + " arrivals and " +
           bytes + (b.bytes > 0 ? came_from(b) : "") + ", " + counted(waiting, "thread") +
           " waiting" + (stale.empty() ? "" : "; " + stale);
}

}  // namespace emulator
