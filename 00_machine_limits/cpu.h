// What is said of the CPU in a row of a CSV.
#pragma once

#include <algorithm>
#include <fstream>
#include <string>

// For a cell of a CSV.
inline std::string without_commas(std::string text) {
    std::replace(text.begin(), text.end(), ',', ' ');
    return text;
}

// "Intel(R) Xeon(R) Processor", "unknown" where /proc/cpuinfo doesn't tell. No comma.
inline std::string cpu_model() {
    std::ifstream file("/proc/cpuinfo");
    for (std::string line; std::getline(file, line);) {
        const size_t colon = line.find(": ");
        if (line.compare(0, 10, "model name") == 0 && colon != std::string::npos) return without_commas(line.substr(colon + 2));
    }
    return "unknown";
}
