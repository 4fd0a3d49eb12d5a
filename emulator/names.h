// How reports name blocks, threads and places.
#pragma once

#include "emulator/scheduler.h"

namespace emulator {

std::string block_name();  // "block 3", the one that runs
std::string thread_name(unsigned thread);  // "thread (5,1)"
std::string kernel_name();  // "matmul<true>"
std::string index_name(uint3 index, dim3 extent);  // "5", "(5,1)" or "(5,1,0)", as the shape needs
uint3 unflatten(uint64_t number, dim3 extent);  // from a linear number, x fastest
bool same_site(const Call& a, const Call& b);
std::string site_name(const Call& site);  // "03_shared_blocking/matmul.cu:45"

}  // namespace emulator
