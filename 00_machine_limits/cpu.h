// The CPU's name, for a row of a CSV.
#pragma once

#include <fstream>
#include <string>

// "Intel(R) Xeon(R) Processor", or "unknown" where /proc/cpuinfo has no name.
inline std::string cpu_model() {
    std::ifstream file("/proc/cpuinfo");
    for (std::string line; std::getline(file, line);) {
        const size_t colon = line.find(": ");
        if (line.compare(0, 10, "model name") == 0 && colon != std::string::npos)
            return line.substr(colon + 2);
    }
    return "unknown";
}
