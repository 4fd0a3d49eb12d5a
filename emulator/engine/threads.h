// The threads of the blocks that run: how they wait and are woken, and how one of them ends the
// launch.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "emulator/engine/run.h"

namespace emulator {

// What a kernel's thread calls.

// Lets the other threads run. The caller goes on at its next turn at which it is ready: a thread
// that only yields stays ready, and one that waits has changed its state and is made ready by what
// it waits for. Does not return once the launch is over.
void suspend();
// Suspends the thread until wake() is called for the object. why: describes the wait in a report.
void wait_for(const void* object, const Call& site, std::string (*why)(const void* object));
void wake(const void* object);
// Ends the launch. Does not return if a kernel's thread calls it.
void fail(const std::string& problem, cudaError_t error = cudaErrorLaunchFailure);
// The same for a mistake of a thread. hint: what follows the place in the message, if anything.
void misuse_by(unsigned thread, const std::string& what, const char* file, int line,
               const std::string& hint = "");
void end_early();  // the launch, without an error
void restart_launch();  // with blocks that run together; does not return

// The user's code for which the emulator accesses memory: the caller of the emulator's function, or
// the asm statement for which it is called.
inline const void* caller(const void* return_address) {
    const void* const pc = threads[current_thread].asm_pc;
    return pc ? pc : return_address;
}

// What the launch calls.

void make_threads();  // run.threads of them, at the beginning of the kernel
// Runs them, in this sequence again and again, until none is ready or the launch is over.
void run_ready_threads(const std::vector<unsigned>& sequence);
// A thread has ended the launch. Runs the other threads on, in this sequence, to where they wait: one
// of them may be about to store what that thread has read too early. Their own failures are not
// reported.
void run_after_failure(const std::vector<unsigned>& sequence);
// The threads' fibers, of a block that is paused. If they are never put back, they are abandoned.
std::shared_ptr<void> take_fibers();
void put_fibers(const std::shared_ptr<void>& of_block);
void abandon_threads();  // that are stuck in the kernel, after a failure

}  // namespace emulator
