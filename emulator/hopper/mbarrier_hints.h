// What reports say of an mbarrier, and the hints at the cause of a mistake there.
#pragma once

#include <string>

#include "emulator/hopper/mbarrier.h"

namespace emulator {

std::string at_site(const Call& site);  // " at mine.cu:31"
std::string counted(int64_t n, const char* what);  // "2 threads"
unsigned rank_with(const Mbarrier& barrier);  // of the block that it lies in
std::string name_of(const Mbarrier& barrier);
std::string name_in_rank(const Mbarrier& barrier);  // without " of rank 2"
std::string state_of(const Mbarrier& barrier, unsigned waiting);  // waiting: so many threads
// Of a wait there that was over at once, or "". before: the last wait of the thread that made the mistake.
std::string stale_wait(const Mbarrier& barrier, const Waited& before);
// The wait that may be the cause of a mistake at the barrier: one that was over at once, or else what its
// thread had waited for before, at another barrier. "" if there is none.
std::string suspect(const Mbarrier& barrier, const Waited& before);
std::string too_fast(
    const Mbarrier& barrier);  // why phases may pass that a waiting thread has not seen
std::string init_and(const Mbarrier& barrier, const std::string& more);  // where it was set up

}  // namespace emulator
