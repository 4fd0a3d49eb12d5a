// NVML, NVIDIA's management library. It is loaded at run time, so that programs also start where it
// is missing.
#pragma once

#include <dlfcn.h>

#include <string>

class Nvml {
public:
    explicit Nvml(const std::string& bus_id)  // such as "0000:1B:00.0"
        : library_(dlopen("libnvidia-ml.so.1", RTLD_NOW)) {
        call("nvmlInit_v2");
        call("nvmlDeviceGetHandleByPciBusId_v2", bus_id.c_str(), &device_);
    }
    std::string driver() const {
        char version[96] = "unknown";
        call("nvmlSystemGetDriverVersion", &version[0], unsigned(sizeof version));
        return version;
    }
    // MHz now, 0 if unknown.
    unsigned sm_clock() const { return query("nvmlDeviceGetClockInfo", 1); }
    unsigned memory_clock() const { return query("nvmlDeviceGetClockInfo", 2); }
    // Watts now, or averaged over the last second if the driver gives only that. 0 if unknown.
    double power() const {
        struct {  // laid out as nvmlFieldValue_t
            unsigned field, scope;
            long long timestamp, latency;
            int type, status;
            unsigned long long value;
        } now = {186, 0, 0, 0, 0, -1, 0};  // NVML_FI_DEV_POWER_INSTANT
        if (device_) call("nvmlDeviceGetFieldValues", device_, 1, static_cast<void*>(&now));
        return (now.status == 0 ? unsigned(now.value) : query("nvmlDeviceGetPowerUsage")) * 1e-3;
    }

private:
    // Calls a function of the library and returns its status, 0 for success.
    template <class... Arguments>
    int call(const char* name, Arguments... arguments) const {
        const auto function = reinterpret_cast<int (*)(Arguments...)>(dlsym(library_, name));
        return function ? function(arguments...) : 1;  // an old driver may lack the function
    }
    // Queries a figure of the device; 0 if it is not available.
    template <class... Arguments>
    unsigned query(const char* name, Arguments... arguments) const {
        unsigned value = 0;
        if (device_) call(name, device_, arguments..., &value);
        return value;
    }
    void *library_, *device_ = nullptr;
};
