// Crashes and infinite loops.
#pragma once

namespace emulator {

namespace watchdog {
void install();  // from then on the program explains its crashes
void begin_launch();
void end_launch();
}  // namespace watchdog

}  // namespace emulator
