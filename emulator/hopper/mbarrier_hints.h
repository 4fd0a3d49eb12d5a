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
// Its phase, its arrivals and bytes so far, and which of both are pending. waiting: the number of
// threads that wait for it.
std::string state_of(const Mbarrier& barrier, unsigned waiting, const Mbarriers& all);
// A hint for a deadlock in which all mbarriers with waiting threads are still in their first phase,
// with no arrival: the parity of one of the waits is wrong.
std::string first_round(const Mbarriers& all);
// Describes a wait that returned at once, or "": a wait at this mbarrier, or else one at another
// mbarrier by the thread that made the mistake. before: the last wait of that thread.
std::string stale_wait(const Mbarrier& barrier, const Waited& before);
// Describes the wait that may be the cause of a mistake at the barrier, or "": one that returned at
// once, or else the last wait of its thread at another barrier.
std::string suspect(const Mbarrier& barrier, const Waited& before);
// A hint at why a phase was completed while a thread still waits for the phase before it.
std::string too_fast(const Mbarrier& barrier);
std::string init_and(const Mbarrier& barrier, const std::string& more);  // where it was initialised

}  // namespace emulator
