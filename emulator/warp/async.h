// Asynchronous copies that a thread has issued and not yet waited for.
#pragma once

namespace emulator {

namespace async {
void begin_launch();
void end_thread();  // completes all copies of the running thread
}  // namespace async

}  // namespace emulator
