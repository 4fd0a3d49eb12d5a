// What is ordered between streams, and what is not.
#pragma once

#include <cstdint>

#include "emulator/engine/accesses.h"

namespace emulator::streams {

bool in_a_stream();  // whether the call that is being done says in which
std::string place_in_stream();  // "mine.cu:31" of that call, or ""
// A copy, or a fill (from is null), as the next operation of the stream that is current. by: the return
// address of the call. host_waits: it has ended when that returns.
void copy(const char* name, const void* by, const void* to, const void* from, size_t bytes,
          bool host_waits);
void begin_launch(const char* file, int line);
void end_launch();
void record(cudaEvent_t event, cudaStream_t stream);
void host_waits_for(cudaStream_t stream);
void host_waits_for(cudaEvent_t event);
void host_waits_for_all();
void forget();  // all that was done
void forget_reports();

// Whether something that was done earlier is not known to come before what is done now. Then each access
// to device memory is passed to these: one to memory that a copy may touch, and one to memory that an
// earlier launch has touched, at that clock.
extern bool watching;
void check_copies(uintptr_t begin, uintptr_t end, trace::Kind kind, uint16_t site);
void check_launch(uint32_t clock, trace::Kind kind_then, uint16_t site_then, trace::Kind kind,
                  uint16_t site);

}  // namespace emulator::streams
