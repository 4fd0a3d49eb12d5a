// How reports describe an mbarrier, and hints at the cause of a mistake there.
#pragma once

#include <string>

#include "emulator/hopper/mbarrier.h"

namespace emulator {

// Why an mbarrier receives more bytes than it expects, where `expects` is false.
constexpr char kNothingExpected[] = "no mbarrier_arrive_expect_tx() expects any bytes";
std::string at_site(const Call& site);  // " at mine.cu:31"
std::string with_unit(int64_t n, const char* unit);  // "2 threads"
// The rank of the block whose shared memory holds the mbarrier.
unsigned owning_rank(const Mbarrier& barrier);
std::string name_of(const Mbarrier& barrier);
std::string name_in_rank(const Mbarrier& barrier);  // without " of rank 2"
// "the 1024 bytes that are expected by thread 0 at mine.cu:30", or ""
std::string describe_expected_bytes(const std::vector<Arrival>& arrivals);
// "512 of the 1024 bytes that are expected by thread 0 at mine.cu:30 have arrived", or ""
std::string describe_bytes(const Mbarrier& barrier);
// The phase, its arrivals and bytes so far, and what is pending. waiting: the number of threads that
// wait for the mbarrier.
std::string describe_state(const Mbarrier& barrier, unsigned waiting, const Mbarriers& all);
// A hint for a deadlock in which all mbarriers with waiting threads are still in their first phase,
// with no arrival: the parity of one of the waits is wrong.
std::string first_phase_hint(const Mbarriers& all);
// Describes a wait that returned at once, or "": a wait at this mbarrier, or else one at another
// mbarrier by the thread that made the mistake. before: the last wait of that thread.
std::string describe_stale_wait(const Mbarrier& barrier, const Waited& before);
// Describes the wait that may be the cause of a mistake at the mbarrier, or "": one that returned at
// once, or else the last wait of the thread at another mbarrier.
std::string wait_hint(const Mbarrier& barrier, const Waited& before);
// A hint at why a phase was completed while a thread still waits for the phase before it.
std::string arrival_count_hint(const Mbarrier& barrier);
// `hint`, or "" for none, and the line where the mbarrier was initialised.
std::string with_init_site(const Mbarrier& barrier, const std::string& hint);

}  // namespace emulator
