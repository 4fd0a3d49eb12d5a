// The threads that run: how one waits and is woken, and how one ends the launch.
#pragma once

#include <string>
#include <vector>

#include "emulator/engine/run.h"

namespace emulator {

// What a kernel's thread calls.

// Lets the others run. The running thread goes on when its turn comes and it is ready: one that only gives way
// stays ready; one that waits has changed its state, and what it waits for makes it ready again. Does not come
// back once the launch is over.
void suspend();
// Suspends the thread until wake() says so of the object.
void wait_for(const void* object, const Call& site, std::string (*why)(const void* object));
void wake(const void* object);
// Ends the launch. Does not return if a kernel's thread calls it.
void fail(const std::string& problem, cudaError_t error = cudaErrorLaunchFailure);
// The same for a mistake of a thread. hint: what stands behind the place, if anything.
void misuse_by(unsigned thread, const std::string& what, const char* file, int line,
               const std::string& hint = "");
void end_early();  // the launch, without an error
void restart_launch();  // with blocks that run together; does not come back

// What the launch calls.

void make_threads();  // run.threads of them, at the beginning of the kernel
// Runs them, in this sequence again and again, until none is ready or the launch is over.
void run_ready_threads(const std::vector<unsigned>& sequence);
void abandon_threads();  // that are stuck in the kernel, after a failure

}  // namespace emulator
