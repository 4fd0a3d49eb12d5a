// How reports name blocks, threads and places.
#pragma once

#include "emulator/engine/run.h"

namespace emulator {

std::string block_name();  // "block 3", the one that runs
std::string thread_name(unsigned thread);  // "thread (5,1)"
// "thread 5", or "threads 0 to 3, 5 and 8 to 31"
std::string thread_names(const std::vector<unsigned>& threads);
// " at mine.cu:9", the return statement of a thread that has returned; "": it reached the kernel's
// end.
std::string place_of_return(const Thread& thread);
// "threads 0 to 3 wait at mine.cu:12; thread 4 has returned at mine.cu:9": these threads, grouped by
// what they wait for.
std::string describe_waits(const std::vector<unsigned>& threads);
template <class Condition>
std::vector<unsigned> threads_that(const Condition& condition) {
    std::vector<unsigned> found;
    for (unsigned t = 0; t < run.threads; ++t)
        if (condition(threads[t])) found.push_back(t);
    return found;
}
std::string kernel_name();  // "matmul<true>"
std::string index_name(uint3 index, dim3 extent);  // "5", "(5,1)" or "(5,1,0)", as the shape needs
uint64_t count(dim3 extent);  // of the blocks of a grid, or of the threads of a block
uint64_t flatten(uint3 index, dim3 extent);  // to a linear number, x fastest
uint3 unflatten(uint64_t number, dim3 extent);  // from that
bool same_site(const Call& a, const Call& b);
std::string site_name(const Call& site);  // "03_shared_blocking/matmul.cu:45"

}  // namespace emulator
