// Source lines of addresses, by addr2line (package binutils) from the program's debug info.

#include "emulator/trace/lines.h"

#include <execinfo.h>
#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>
#include <sstream>

#include "emulator/trace/symbols.h"

namespace emulator {
namespace {

// The output of addr2line for these addresses, or "" if it is missing. It runs without a shell.
std::string addr2line(const std::vector<std::string>& addresses) {
    const std::string program = "/proc/" + std::to_string(getpid()) + "/exe";
    std::vector<const char*> words = {"addr2line", "-a", "-i", "-e", program.c_str()};
    for (const std::string& address : addresses) words.push_back(address.c_str());
    words.push_back(nullptr);

    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) return "";
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
    posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    pid_t child;
    const bool started = posix_spawnp(&child, words[0], &actions, nullptr,
                                      const_cast<char**>(words.data()), environ) == 0;
    posix_spawn_file_actions_destroy(&actions);
    close(ends[1]);

    std::string output;
    char text[4096];
    for (ssize_t n; started && (n = read(ends[0], text, sizeof text)) > 0;) output.append(text, n);
    close(ends[0]);
    if (started) waitpid(child, nullptr, 0);
    return output;
}

// Source files by the names that reports give them. Never destroyed, because reports are also made
// at exit.
std::map<std::string, std::string>& sources() {
    static auto& sources = *new std::map<std::string, std::string>;
    return sources;
}

std::string without_line(const std::string& place) {
    const size_t colon = place.rfind(':');
    const bool has_line =
        colon != place.npos && place.find_first_not_of("0123456789", colon + 1) == place.npos;
    return has_line ? place.substr(0, colon) : place;
}

std::string shortened(const std::string& path) {
    static const char* const from = std::getenv("EMULATOR_FOLDER");
    if (from) {  // all but this folder
        const size_t length = std::strlen(from);
        return length > 1 && path.compare(0, length, from) == 0 ? path.substr(length) : path;
    }
    const size_t name = path.rfind('/');
    const size_t folder =
        name == std::string::npos || name == 0 ? std::string::npos : path.rfind('/', name - 1);
    return folder == std::string::npos ? path : path.substr(folder + 1);
}

// The source whose name, or whose name without its folder, ends at `end` in the report; "" if there
// is none.
std::string source_before(const std::string& report, size_t end) {
    std::string found;
    size_t length = 0;
    const auto look_for = [&](const std::string& name, const std::string& source) {
        if (name.size() <= length || name.size() > end) return;
        const size_t begin = end - name.size();
        if (report.compare(begin, name.size(), name) != 0) return;
        if (begin > 0 && report[begin - 1] != ' ') return;
        found = source;
        length = name.size();
    };
    for (const auto& [name, path] : sources()) {
        look_for(name, name);
        if (report.find(name + ":") != report.npos)
            look_for(name.substr(name.rfind('/') + 1), name);
    }
    return found;
}

// The source file of a place that a report names; one that is not open if it is not known.
std::ifstream open_source(const std::string& place) {
    const auto source = sources().find(without_line(place));
    return source == sources().end() ? std::ifstream() : std::ifstream(source->second);
}

// The source line at a place that a report names, with spaces for tabs; "" if it is not known.
std::string whole_line(const std::string& place) {
    std::ifstream file = open_source(place);
    std::string line;
    for (int i = std::atoi(place.c_str() + place.rfind(':') + 1); i > 0; --i)
        if (!std::getline(file, line)) return "";
    std::replace(line.begin(), line.end(), '\t', ' ');
    return line;
}

}  // namespace

std::string short_path(const std::string& path) {
    const std::string name = shortened(path);
    sources()[without_line(name)] = without_line(path);
    return name;
}

std::string short_place(const char* file, int line) {
    return short_path(file) + ":" + std::to_string(line);
}

std::string source_line(const std::string& place) {
    const std::string line = whole_line(place);
    const size_t first = line.find_first_not_of(' '), last = line.find_last_not_of(" \r");
    return first == line.npos ? "" : line.substr(first, last + 1 - first);
}

std::string source_text(const std::string& place) {
    std::ifstream file = open_source(place);
    return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

std::string element_ending_at(const std::string& place, size_t column) {
    const std::string line = whole_line(place);
    size_t begin = column;
    while (begin > 0 && begin <= line.size() && line[begin - 1] == ']') {  // of each dimension
        int depth = 0;
        do {
            --begin;
            depth += (line[begin] == ']') - (line[begin] == '[');
        } while (begin > 0 && depth > 0);
    }
    if (begin == column) return "";
    while (begin > 0 && (std::isalnum(line[begin - 1]) || std::strchr("_.", line[begin - 1])))
        --begin;
    return line.substr(begin, column - begin);
}

// Argument `number` of those that begin at `begin` and end with a bracket.
static std::string argument_from(const std::string& line, size_t begin, unsigned number) {
    int depth = 0;
    for (size_t at = begin; at < line.size(); ++at) {
        const char c = line[at];
        const bool last = depth == 0 && (c == ')' || line.compare(at, 3, ">>>") == 0);
        if (last || (depth == 0 && c == ',')) {
            if (number-- == 0) return line.substr(begin, at - begin);
            if (last) return "";
            begin = std::min(line.find_first_not_of(' ', at + 1), line.size());
        }
        depth += (c == '(' || c == '[' || c == '{') - (c == ')' || c == ']' || c == '}');
    }
    return "";
}

std::string call_argument(const std::string& place, const std::string& function, unsigned number) {
    const std::string line = source_line(place), call = function + "(";
    const size_t found = line.find(call);
    return found == line.npos ? "" : argument_from(line, found + call.size(), number);
}

std::string launch_argument(const std::string& place, unsigned number) {
    const std::string line = source_line(place);
    const size_t found = line.find("<<<");
    return found == line.npos ? "" : argument_from(line, found + 3, number);
}

std::string folders_once(std::string report) {
    for (const auto& [name, path] : sources()) {
        const size_t folder = name.rfind('/') + 1, first = report.find(name + ":");
        if (folder == 0 || first == report.npos) continue;
        for (size_t at = first; (at = report.find(name + ":", at + 1)) != report.npos;)
            if (report[at - 1] == ' ') report.erase(at, folder);
    }
    return report;
}

namespace {

// How many bytes of the text fit into a line of `columns` columns: whole words, if possible.
size_t fitting(const std::string& text, size_t columns) {
    if (text.size() <= columns) return text.size();
    const size_t space = text.rfind(' ', columns);
    if (space != text.npos && space > columns / 2) return space;
    while ((text[columns] & 0xc0) == 0x80) --columns;  // not within a character of UTF-8
    return columns;
}

}  // namespace

std::string quoted_lines(const std::string& report) {
    constexpr size_t kPlaces = 2, kColumns = 66;  // after margins of 14 columns
    std::vector<std::string> places;
    std::string quoted;
    for (size_t colon = report.find(':'); colon != report.npos && places.size() < kPlaces;
         colon = report.find(':', colon + 1)) {
        const int number = std::atoi(report.c_str() + colon + 1);
        const std::string name = number > 0 ? source_before(report, colon) : "";
        const std::string place = name + ":" + std::to_string(number);
        if (name.empty() || std::count(places.begin(), places.end(), place)) continue;
        std::string line = source_line(place);
        if (line.empty()) continue;
        places.push_back(place);
        char margin[32];
        std::snprintf(margin, sizeof margin, "\n    %5d | ", number);
        size_t end = fitting(line, kColumns);
        quoted += margin + line.substr(0, end);
        while (line.erase(0, std::min(line.find_first_not_of(' ', end), line.size())) != "") {
            end = fitting(line, kColumns - 4);
            quoted += "\n          |     " + line.substr(0, end);
        }
    }
    return quoted;
}

// Only lines outside the emulator: a copy of a float4, for example, is inlined from cuda_runtime.h,
// and the user needs the line that copies.
std::vector<std::vector<std::string>> find_inlined_lines(
    const std::vector<uintptr_t>& return_addresses) {
    std::vector<std::string> addresses;
    std::vector<std::vector<std::string>> lines(return_addresses.size());
    for (const uintptr_t pc : return_addresses) {
        char address[32];  // a return address is one past the call
        std::snprintf(address, sizeof address, "%#zx", size_t(pc - 1 - load_address()));
        addresses.push_back(address);
    }
    if (addresses.empty()) return lines;
    std::istringstream output(addr2line(addresses));
    size_t number = 0;
    for (std::string text; std::getline(output, text);) {
        if (text[0] == '0') ++number;  // -a: the address comes before its lines
        else if (text.find("emulator/include/") == text.npos &&
                 text.find("/include/c++/") == text.npos &&
                 std::atoi(text.c_str() + text.rfind(':') + 1) > 0)  // not ":?" or ":0"
            lines[number - 1].push_back(
                short_path(text.substr(0, text.find(" (discriminator", text.rfind('/')))));
    }
    return lines;
}

std::vector<std::string> find_lines(const std::vector<uintptr_t>& return_addresses) {
    std::vector<std::string> lines;
    for (const auto& inlined : find_inlined_lines(return_addresses))
        lines.push_back(inlined.empty() ? "" : inlined[0]);
    return lines;
}

std::string line_or_unknown(uintptr_t return_address) {
    const std::string line = find_lines({return_address})[0];
    return line.empty() ? "an unknown line" : line;
}

std::string place_of_call(uintptr_t return_address) {
    const std::string line = find_lines({return_address})[0];
    return line.empty() ? "" : " at " + line;
}

std::string place_of_host() {
    void* callers[64];
    const int count = backtrace(callers, 64);
    std::vector<uintptr_t> addresses;
    for (int i = 0; i < count; ++i) addresses.push_back(reinterpret_cast<uintptr_t>(callers[i]));
    for (const std::string& line : find_lines(addresses))
        if (!line.empty()) return " at " + line;
    return "";
}

}  // namespace emulator
