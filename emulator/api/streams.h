// What is ordered between streams, and what is not.
#pragma once

#include <string>
#include <vector>

#include "emulator/include/cuda_runtime_api.h"

namespace emulator {

struct Allocation;
struct Launch;

// What an operation reads or writes: `rows` of `width` bytes, each `pitch` bytes after the one
// before.
struct Region {
    std::string name;  // "A (4 x 3, lda 4)"
    const void* begin;
    size_t width, pitch, rows;
    bool writes;

    size_t bytes() const { return rows && width ? (rows - 1) * pitch + width : 0; }
};

}  // namespace emulator

namespace emulator::streams {

bool is_default(cudaStream_t stream);
bool is_blocking(cudaStream_t stream);  // not created with cudaStreamNonBlocking
bool in_default_stream();  // the current call is there
bool in_a_stream();  // whether the current call names its stream
std::string place_in_stream();  // "mine.cu:31" of that call, or ""
// A copy, or a fill (from is null), as the next operation of the current stream. caller: the return
// address of the call. host_waits: the copy has ended when the call returns.
void copy(const char* name, const void* caller, const void* to, const void* from, size_t bytes,
          bool host_waits);
// Likewise that the stream allocates or frees this memory (cudaMallocAsync, cudaFreeAsync).
void allocate(const void* caller, const Allocation& memory);
void free(const void* caller, const Allocation& memory);
// cudaFree() of such memory, for which the host does not wait. Source: CUDA programming guide,
// "Stream-Ordered Memory Allocator".
void host_frees(const void* caller, const Allocation& memory);
// A library's function likewise. The host does not wait for it.
void call_library(const char* name, const std::vector<Region>& regions);
void begin_launch(const Launch& launch);
void end_launch();
void record(cudaEvent_t event, cudaStream_t stream);
void wait(cudaStream_t stream, cudaEvent_t event);
void host_waits_for(cudaStream_t stream);
void host_waits_for(cudaEvent_t event);
bool host_has_waited_for(cudaEvent_t event);
// "mine.cu:31", of the last launch between two calls that have recorded these events, if all the
// launches between them are in other streams, which neither event waits for; else "".
std::string launch_beside(cudaEvent_t begin, cudaEvent_t end);
void host_waits_for_all();
uint64_t launches();  // so far
// "mine.cu:31", of the last launch for which the host has not waited, if at least so many launches
// came before it; else "".
std::string launch_under_way(uint64_t before);
void forget(cudaEvent_t event);
void forget();  // all operations so far

}  // namespace emulator::streams
