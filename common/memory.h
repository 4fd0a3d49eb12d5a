// How much of the host's memory a program may still take, so that it can refuse before the kernel kills it.
#pragma once

#include <algorithm>
#include <fstream>
#include <limits>
#include <sstream>
#include <string>

#include "common/report.h"

// The number behind `key` in the file at `path`; `otherwise` where there is none, as in "max".
inline double number_in(const std::string& path, const std::string& key, double otherwise) {
    std::ifstream file(path);
    for (std::string line; std::getline(file, line);) {
        std::istringstream words(line);
        std::string word;
        double number;
        if ((key.empty() || (words >> word && word == key)) && words >> number) return number;
    }
    return otherwise;
}

// Bytes: what the machine has available, or less where a control group of this process leaves less. `root`: a folder that holds
// proc and sys.
inline double available_memory(const std::string& root = "") {
    double least = 1024 * number_in(root + "/proc/meminfo",
                                    "MemAvailable:", std::numeric_limits<double>::infinity());
    std::ifstream groups(root + "/proc/self/cgroup");
    for (std::string line;
         std::getline(groups, line);) {  // "0::/a/b" in version 2, "4:memory:/a/b" in version 1
        const size_t one = line.find(':'), two = line.find(':', one + 1);
        if (two == std::string::npos) continue;
        const std::string controllers = "," + line.substr(one + 1, two - one - 1) + ",";
        const bool unified = controllers == ",,";
        if (!unified && controllers.find(",memory,") == std::string::npos) continue;
        const std::string base = root + "/sys/fs/cgroup" + (unified ? "" : "/memory"),
                          total = unified ? "" : "total_";
        // A group's limit holds for all groups in it. In a container only the outermost folder may be there.
        for (std::string group = line.substr(two + 1);; group.resize(group.rfind('/'))) {
            const std::string folder = base + group;
            const double none = std::numeric_limits<double>::infinity();
            const double limit =
                number_in(folder + (unified ? "/memory.max" : "/memory.limit_in_bytes"), "", none);
            double used =
                number_in(folder + (unified ? "/memory.current" : "/memory.usage_in_bytes"), "", 0);
            for (const char* cached :
                 {"inactive_file",
                  "active_file"})  // counted as used, but given back when asked for
                used -= number_in(folder + "/memory.stat", total + cached, 0);
            least = std::min(least, limit - used);
            if (group.find('/') == std::string::npos) break;
        }
    }
    return std::max(0.0, least);
}

// Throws Failure(kDeviceFailed) unless there are so many bytes.
inline void need_memory(double bytes) {
    const double available = available_memory(), gib = 1 << 30;
    if (bytes > available)
        throw Failure(kDeviceFailed,
                      format("needs %.2f GiB of memory, %.2f GiB are available; try a smaller size",
                             bytes / gib, available / gib));
}
