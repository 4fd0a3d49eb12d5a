// Runs launches: their blocks and threads, and how a thread waits.
#pragma once

#include <string>

#include "emulator/engine/run.h"

namespace emulator {

struct Hooks;

void run_launch(const Launch& launch, void (*thread)(void*), void* argument, const Hooks& hooks);
// Ends the launch. Does not return if a kernel's thread calls it.
void fail(const std::string& problem, cudaError_t error = cudaErrorLaunchFailure);
void end_early();  // the launch, without an error
// hint: what stands behind the place, if anything.
void misuse_by(unsigned thread, const std::string& what, const char* file, int line,
               const std::string& hint = "");
// All called by the running thread. The others run first:
void give_way();
// Until it is ready again:
void suspend();
// Until wake() says so of the object:
void wait_for(const void* object, const Call& site, std::string (*why)(const void* object));
void wake(const void* object);
void restart_launch();  // with blocks that run together; does not come back

}  // namespace emulator
