// Crashes and endless loops.
#pragma once

namespace emulator {

namespace watchdog {
void begin_launch();
void end_launch();
}  // namespace watchdog

}  // namespace emulator
