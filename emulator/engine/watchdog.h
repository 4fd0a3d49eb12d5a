// Crashes and endless loops.
#pragma once

namespace emulator {

namespace watchdog {
void install();  // from then on crashes are explained
void begin_launch();
void end_launch();
}  // namespace watchdog

}  // namespace emulator
