// What NVIDIA's driver tells of a GPU: its version, and the clocks at the moment.
#pragma once

#include <dlfcn.h>

#include <string>

#include "common/command_line.h"

// What NVML tells, where the driver's library is there (it is loaded at run time, so that the program starts without).
class Nvml {
public:
    // `bus_id`: such as "0000:1B:00.0".
    explicit Nvml(const std::string& bus_id) {
        library_ = dlopen("libnvidia-ml.so.1", RTLD_NOW);
        if (!library_ || call<int()>("nvmlInit_v2")() != 0) return;
        if (call<int(const char*, void**)>("nvmlDeviceGetHandleByPciBusId_v2")(bus_id.c_str(),
                                                                               &handle_) != 0)
            handle_ = nullptr;
    }
    std::string driver() const {
        char version[96] = "unknown";
        if (handle_)
            call<int(char*, unsigned)>("nvmlSystemGetDriverVersion")(version, sizeof version);
        return version;
    }
    // MHz now, 0 if unknown.
    unsigned sm_clock() const { return clock(1); }
    unsigned memory_clock() const { return clock(2); }

private:
    template <typename Function>
    Function* call(const char* name) const {
        void* symbol = dlsym(library_, name);
        if (!symbol) throw Failure(kDeviceFailed, std::string("libnvidia-ml.so.1 lacks ") + name);
        return reinterpret_cast<Function*>(symbol);
    }
    unsigned clock(int which) const {
        unsigned mhz = 0;
        if (handle_)
            call<int(void*, int, unsigned*)>("nvmlDeviceGetClockInfo")(handle_, which, &mhz);
        return mhz;
    }

    void* library_ = nullptr;
    void* handle_ = nullptr;
};
