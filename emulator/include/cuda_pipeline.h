// Asynchronous copies from global to shared memory: the __pipeline_ functions of CUDA's
// cuda_pipeline.h.
//
// A copy may happen at any time between its call and the wait for it. Here the source is read at
// the call, and the destination is filled with 0xff bytes (NaN) at the call and gets its data at
// the wait. A kernel that reads too early, or that starts a copy while others still need the old
// data, therefore computes NaN.
#pragma once

#include "cuda_runtime.h"  // from this folder, wherever this file is included

namespace emulator {

// Checks and notes a copy of the running thread. Returns where its bytes are to be kept until the
// wait.
void* async_copy(void* to, const void* from, size_t size, size_t zfill, const void* pc,
                 const char* file, int line);
void commit_copies();
// Waits for all batches except the latest `pending`.
void wait_for_copies(size_t pending, const char* file, int line);

// Not traced, because async_copy() traces the copy.
__attribute__((noinline, no_sanitize("thread"))) inline void start_copy(void* to, const void* from,
                                                                        size_t size, size_t zfill,
                                                                        const char* file,
                                                                        int line) {
    void* const kept = async_copy(to, from, size, zfill, __builtin_return_address(0), file, line);
    std::memcpy(kept, from, size - zfill);
    std::memset(to, 0xff, size);
}

}  // namespace emulator

// size: 4, 8 or 16 bytes, the last zfill of which become zero instead of being read. Both addresses
// must be multiples of size.
__forceinline__ void __pipeline_memcpy_async(void* to, const void* from, size_t size,
                                             size_t zfill = 0, EMULATOR_SITE) {
    emulator::start_copy(to, from, size, zfill, file, line);
}
__forceinline__ void __pipeline_commit() { emulator::commit_copies(); }
__forceinline__ void __pipeline_wait_prior(size_t pending, EMULATOR_SITE) {
    emulator::wait_for_copies(pending, file, line);
}
