// The host's names of device variables, and their addresses on the device.
#pragma once

#include <cstddef>
#include <string>

namespace emulator {

// Whether the address can only be the name of a __device__ or __constant__ variable. On the host this
// name is not the variable's address on the device, though the emulator has one address for both.
bool is_name_of_variable(const void* pointer);
// "the host's name of the __device__ variable table, which is not its address"
std::string name_of_variable(const void* pointer);
// The host has these bytes from the device. If they hold a variable's address, the host knows it.
void note_addresses(const void* bytes, size_t count);

}  // namespace emulator
