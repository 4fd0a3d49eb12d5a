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

// " at mine.cu:31", the caller of a function of the runtime; "" if there is no debug info.
std::string place_of_call(uintptr_t return_address);

// What stands in the source at a place that a report names, such as "mine.cu:31"; "" where it is not known.
std::string source_line(const std::string& place);
// Of the call of `function` there: its first argument.
std::string first_argument(const std::string& place, const std::string& function);
// The report with each file's folder where the file is named first, and not again.
std::string folders_once(std::string report);
// The source lines of the first places in a report, each indented and below the one before: "\n    31 | ...".
std::string quoted_lines(const std::string& report);

}  // namespace emulator
