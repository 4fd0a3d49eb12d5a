// Source lines of addresses, by addr2line (package binutils) from the program's debug info.

#include "emulator/lines.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <sstream>

#include "emulator/symbols.h"

namespace emulator {
namespace {

// What addr2line prints for these addresses, or "" if it is missing. No shell sees the arguments.
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

}  // namespace

std::string short_path(const std::string& path) {
    static const char* const from = std::getenv("EMULATOR_FOLDER");
    if (from) {  // whole, but for that
        const size_t length = std::strlen(from);
        return length > 1 && path.compare(0, length, from) == 0 ? path.substr(length) : path;
    }
    const size_t name = path.rfind('/');
    const size_t folder =
        name == std::string::npos || name == 0 ? std::string::npos : path.rfind('/', name - 1);
    return folder == std::string::npos ? path : path.substr(folder + 1);
}

// Of inlined lines, take the innermost one outside the emulator: a copy of a float4, for example,
// is inlined from cuda_runtime.h, and the user wants the line that copies.
std::vector<std::string> find_lines(const std::vector<uintptr_t>& return_addresses) {
    std::vector<std::string> addresses, lines(return_addresses.size());
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
        else if (lines[number - 1].empty() && text.find("emulator/include/") == text.npos &&
                 text.find("/include/c++/") == text.npos &&
                 std::atoi(text.c_str() + text.rfind(':') + 1) > 0)  // not ":?" or ":0"
            lines[number - 1] =
                short_path(text.substr(0, text.find(" (discriminator", text.rfind('/'))));
    }
    return lines;
}

}  // namespace emulator
