// What a thread has asked for and not waited for: copies.
#pragma once

namespace emulator {

namespace async {
void begin_launch();
void end_thread();  // all copies of the running thread take place
}  // namespace async

}  // namespace emulator
