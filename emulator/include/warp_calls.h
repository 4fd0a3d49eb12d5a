// Instructions that a warp carries out together, and how an instruction reports its misuse and what it
// accesses.
#pragma once

#include <string>

#include "cuda_runtime.h"  // this folder's, wherever it is included from

namespace emulator {

// As its 32 lanes called it.
struct WarpCall {
    const void* arguments[32];
    const void* pc;  // the user's code, for the trace
    const char* file;
    int line;
};
// Waits until all lanes of the warp have called it with the same operation at the same line. The
// last one to arrive carries it out.
void collective(void (*operation)(const WarpCall&), const void* arguments, const char* file,
                int line);
// Ends the launch; does not come back.
void misuse(const std::string& what, const char* file, int line);
int architecture();  // 70, 75 or 80
// Ends the launch if the chosen architecture is older than `since`.
void require(int since, const char* instruction, const char* file, int line);

// Tells the trace that a lane of the running warp accesses these bytes. Nothing happens where there
// is no trace. A function that does so is not traced itself.
void trace_lane(int lane, const void* address, int bytes, bool store, const void* pc);
bool traced_as_shared(const void* address);
bool is_shared(const void* address);
bool tracing();

}  // namespace emulator
