// How reports describe an mbarrier, and hints at the cause of a mistake there.
#pragma once

#include <string>

#include "emulator/hopper/mbarrier.h"

namespace emulator {

// Why bytes come too late for a phase, where the mbarrier has loads and `expects` is false.
constexpr char kNothingExpected[] = "no mbarrier_arrive_expect_tx() has stated any bytes";
std::string at_site(const Call& site);  // " at mine.cu:31"
std::string counted(int64_t n, const char* what);  // "2 threads"
// The rank of the block in whose shared memory it lies.
unsigned rank_with(const Mbarrier& barrier);
std::string name_of(const Mbarrier& barrier);
std::string name_in_rank(const Mbarrier& barrier);  // without " of rank 2"
std::string state_of(const Mbarrier& barrier, unsigned waiting);  // waiting: the number of threads
// Describes a wait there that returned at once, or "". before: the last wait of the thread that
// made the mistake.
std::string stale_wait(const Mbarrier& barrier, const Waited& before);
// Describes the wait that may be the cause of a mistake at the barrier, or "": one that returned at
// once, or else the last wait of its thread at another barrier.
std::string suspect(const Mbarrier& barrier, const Waited& before);
// A hint why a phase may end before a thread that waits for an earlier one has gone on.
std::string too_fast(const Mbarrier& barrier);
std::string init_and(const Mbarrier& barrier, const std::string& more);  // where it was initialised

}  // namespace emulator
