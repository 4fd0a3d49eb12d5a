// What becomes of memory when the device is reset.
#pragma once

namespace emulator {

void free_all_memory();

}  // namespace emulator
