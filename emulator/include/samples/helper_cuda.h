// The functions of NVIDIA's helper_*.h that most samples use, for samples that come without these
// files. One file stands for all of them.
#pragma once

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "emulator/include/cuda_runtime.h"

// clang-format off
#ifndef EXIT_WAIVED
#define EXIT_WAIVED 2
#endif
#ifndef MAX
#define MAX(a, b) ((a) > (b) ? (a) : (b))
#define MIN(a, b) ((a) < (b) ? (a) : (b))
#endif
template <class Error>
void emulator_check(Error error, const char* call, const char* file, int line) {
    if (int(error) == 0) return;
    std::fprintf(stderr, "%s:%d: %s: error %d\n", file, line, call, int(error));
    std::exit(EXIT_FAILURE);
}
#define checkCudaErrors(call) emulator_check((call), #call, __FILE__, __LINE__)
#define getLastCudaError(what) emulator_check(cudaGetLastError(), what, __FILE__, __LINE__)
#define sdkCheckErrors(call) checkCudaErrors(call)

inline int findCudaDevice(int, const char**) { return 0; }
inline int gpuGetMaxGflopsDeviceId() { return 0; }
inline int gpuDeviceInit(int) { return 0; }
inline bool checkCudaCapabilities(int major, int minor) { return major * 10 + minor <= 80; }
inline int _ConvertSMVer2Cores(int, int) { return 64; }
inline const char* _ConvertSMVer2ArchName(int, int) { return "emulated"; }

// ---- The command line: -name=value, with one - or two ----

inline const char* emulator_option(int count, const char** words, const char* name) {
    for (int i = 1; i < count; ++i) {
        const char* word = words[i] + std::strspn(words[i], "-");
        const size_t length = std::strlen(name);
        if (word != words[i] && std::strncmp(word, name, length) == 0 && (word[length] == 0 || word[length] == '='))
            return word + length + (word[length] == '=');
    }
    return nullptr;
}
inline bool checkCmdLineFlag(int count, const char** words, const char* name) { return emulator_option(count, words, name); }
inline int getCmdLineArgumentInt(int count, const char** words, const char* name) {
    const char* const value = emulator_option(count, words, name);
    return value ? std::atoi(value) : 0;
}
inline float getCmdLineArgumentFloat(int count, const char** words, const char* name) {
    const char* const value = emulator_option(count, words, name);
    return value ? float(std::atof(value)) : 0;
}
inline bool getCmdLineArgumentString(int count, const char** words, const char* name, char** value) {
    return (*value = const_cast<char*>(emulator_option(count, words, name)));
}

// ---- Timers: by this CPU's clock, in ms ----

struct StopWatchInterface {
    std::chrono::steady_clock::time_point begin;
    double sum = 0;
    int times = 0;
    bool running = false;
    double now() const {
        return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
    }
};
inline bool sdkCreateTimer(StopWatchInterface** timer) { return (*timer = new StopWatchInterface); }
inline bool sdkDeleteTimer(StopWatchInterface** timer) {
    delete *timer;
    *timer = nullptr;
    return true;
}
inline bool sdkStartTimer(StopWatchInterface** timer) {
    (*timer)->begin = std::chrono::steady_clock::now();
    return (*timer)->running = true;
}
inline bool sdkStopTimer(StopWatchInterface** timer) {
    (*timer)->sum += (*timer)->now();
    ++(*timer)->times;
    (*timer)->running = false;
    return true;
}
inline bool sdkResetTimer(StopWatchInterface** timer) { **timer = {}; return true; }
inline float sdkGetTimerValue(StopWatchInterface** timer) { return float((*timer)->sum + ((*timer)->running ? (*timer)->now() : 0)); }
inline float sdkGetAverageTimerValue(StopWatchInterface** timer) { return float((*timer)->sum / MAX((*timer)->times, 1)); }

// ---- Files and comparisons ----

inline char* sdkFindFilePath(const char* name, const char*) {
    for (const char* folder : {"", "data/", "../data/", "./"}) {
        const std::string path = std::string(folder) + name;
        if (std::FILE* const file = std::fopen(path.c_str(), "rb")) {
            std::fclose(file);
            return strdup(path.c_str());
        }
    }
    return nullptr;
}
template <class T, class S>
bool compareData(const T* expected, const T* data, unsigned count, S epsilon, float threshold) {
    unsigned wrong = 0;
    for (unsigned i = 0; i < count; ++i) {
        const double off = double(expected[i]) - double(data[i]);
        wrong += !(off <= double(epsilon) && -off <= double(epsilon));
    }
    return double(wrong) <= double(threshold) * count;
}
inline bool sdkCompareL2fe(const float* expected, const float* data, unsigned count, float epsilon) {
    double off = 0, all = 0;
    for (unsigned i = 0; i < count; ++i) {
        off += (double(expected[i]) - data[i]) * (double(expected[i]) - data[i]);
        all += double(expected[i]) * expected[i];
    }
    return off <= double(epsilon) * epsilon * all;
}
// clang-format on
