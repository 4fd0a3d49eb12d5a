// Instructions that a warp executes together, and how instructions report misuse and trace their
// accesses.
#pragma once

#include <string>

#include "cuda_runtime.h"  // from this folder, wherever this file is included

namespace emulator {

// A call of such an instruction by the 32 lanes.
struct WarpCall {
    const void* arguments[32];
    const void* pc;  // the user's code, for the trace
    const char* file;
    int line;
};
// Waits until all lanes of the warp have called it with the same operation at the same line. The
// last one to arrive executes the operation.
void collective(void (*operation)(const WarpCall&), const void* arguments, const char* file,
                int line);
// Ends the launch; does not return.
void misuse(const std::string& what, const char* file, int line);
int architecture();  // 70, 75, 80 or 90
// Ends the launch if the chosen architecture is older than `since`.
void require(int since, const char* instruction, const char* file, int line);

// Traces that a lane of the running warp accesses these bytes; does nothing in an untraced launch.
// A function that calls it is itself compiled without tracing.
void trace_lane(int lane, const void* address, int bytes, bool store, const void* pc);
bool traced_as_shared(const void* address);
bool is_shared(const void* address);
bool tracing();

}  // namespace emulator
