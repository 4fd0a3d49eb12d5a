// What the arguments of a launch may not be: pointers to the host's functions, objects with the
// host's virtual functions, one array for two __restrict__ parameters.
#pragma once

#include <cstddef>
#include <cstdint>

namespace emulator {

// These bytes are copied to the device, to this address, from the host, or null.
void note_objects(const void* bytes, uintptr_t to, size_t count);
// The host has these bytes from the device, so that it knows the addresses of functions among them.
void note_functions(const void* bytes, size_t count);

namespace arguments {
void end_launch();
}

}  // namespace emulator
