// How reports describe an mbarrier, and hints at the cause of a mistake there.
#pragma once

#include <string>

#include "emulator/hopper/mbarrier.h"

namespace emulator {

// Why an mbarrier receives more bytes than it expects, where `expects` is false.
constexpr char kNothingExpected[] = "no mbarrier_arrive_expect_tx() expects any bytes";
std::string at_site(const Call& site);  // " at mine.cu:31"
std::string counted(int64_t n, const char* what);  // "2 threads"
// The rank of the block whose shared memory holds the mbarrier.
unsigned rank_with(const Mbarrier& barrier);
std::string name_of(const Mbarrier& barrier);
std::string name_in_rank(const Mbarrier& barrier);  // without " of rank 2"
// "the 1024 bytes that are expected by thread 0 at mine.cu:30", or ""
std::string expected_bytes(const std::vector<Arrival>& arrivals);
// "512 of the 1024 bytes that are expected by thread 0 at mine.cu:30 have arrived", or ""
std::string bytes_of(const Mbarrier& barrier);
// Its phase, which arrivals have been made, which bytes have arrived, and which are missing.
// waiting: the number of threads.
std::string state_of(const Mbarrier& barrier, unsigned waiting, const Mbarriers& all);
// A hint for a deadlock in which nobody has arrived at any of the mbarriers that are waited for.
std::string first_round(const Mbarriers& all);
// Describes a wait that returned at once, at this mbarrier or, by the thread that made the mistake,
// at another one; or "". before: the last wait of that thread.
std::string stale_wait(const Mbarrier& barrier, const Waited& before);
// Describes the wait that may be the cause of a mistake at the barrier, or "": one that returned at
// once, or else the last wait of its thread at another barrier.
std::string suspect(const Mbarrier& barrier, const Waited& before);
// A hint why a phase may complete before a thread that waits for an earlier one has resumed.
std::string too_fast(const Mbarrier& barrier);
std::string init_and(const Mbarrier& barrier, const std::string& more);  // where it was initialised

}  // namespace emulator
