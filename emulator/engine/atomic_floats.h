// Mistakes with floats that atomics show: counters that stop, and bits in the order of integers.
#pragma once

namespace emulator::atomic_floats {
void end_launch();
}
