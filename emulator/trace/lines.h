// Places in the source, and how reports name them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace emulator {

// The name of a file in reports: its last folder and its name or, if the environment has
// EMULATOR_FOLDER, its path without that folder.
std::string short_path(const std::string& path);
std::string short_place(const char* file, int line);  // "mine.cu:31"
// The source line of each return address, from the debug info; "" where there is none.
std::vector<std::string> find_lines(const std::vector<uintptr_t>& return_addresses);
// The line of one of them, or "an unknown line".
std::string line_or_unknown(uintptr_t return_address);
// The lines, and for each the line of each call that was inlined, from the inside out.
std::vector<std::vector<std::string>> find_inlined_lines(
    const std::vector<uintptr_t>& return_addresses);

// The caller of a runtime function, " at mine.cu:31"; "" if there is no debug info.
std::string place_of_call(uintptr_t return_address);
// The innermost line of the program's own that the host is at, " at mine.cu:31"; "" if there is no
// debug info.
std::string place_of_host();

// The text of the source line at a place that a report names, such as "mine.cu:31"; "" if it is not
// known.
std::string source_line(const std::string& place);
// The text of the file in which that line is; "" if it is not known.
std::string source_text(const std::string& place);
// The element of an array whose last bracket is in that column of the line, from 1 on: "t[y][x + 1]". "" if
// no bracket is there, such as in a macro.
std::string element_ending_at(const std::string& place, size_t column);
// An argument, counted from 0, of the call of `function` on that line; "" if it is not there.
std::string call_argument(const std::string& place, const std::string& function, unsigned number);
// The same of a launch's <<<...>>>.
std::string launch_argument(const std::string& place, unsigned number);
// The report with each file's folder only where the file is named first.
std::string folders_once(std::string report);
// The source lines of the first places in a report, each indented and below the one before: "\n
// 31 | ...".
std::string quoted_lines(const std::string& report);

}  // namespace emulator
