// Where in the source.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace emulator {

// The last folder and the name; or, if the environment has EMULATOR_FOLDER, all but that folder before it.
std::string short_path(const std::string& path);
// The source line of each return address, from the debug info; "" where there is none.
std::vector<std::string> find_lines(const std::vector<uintptr_t>& return_addresses);

}  // namespace emulator
