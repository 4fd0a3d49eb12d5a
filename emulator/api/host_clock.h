// When the host reads the clock.
#pragma once

namespace emulator {
void note_clock(const void* caller);  // the return address of the call that reads it
}
