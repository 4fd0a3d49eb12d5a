// Counters in device memory that a launch begins with what the launch before has left there.
#pragma once

namespace emulator::counters {
void begin_launch();
void end_launch();
}  // namespace emulator::counters
