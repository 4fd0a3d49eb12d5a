// What this chapter needs of OpenCL: the devices that are present, memory on one of them, and
// programs built from files.
#pragma once

#define CL_HPP_ENABLE_EXCEPTIONS
#define CL_HPP_MINIMUM_OPENCL_VERSION 120
#define CL_HPP_TARGET_OPENCL_VERSION 120
#include <CL/opencl.hpp>

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "common/errors.h"

// Returns a call's failure as one line: "clBuildProgram failed: CL_OUT_OF_RESOURCES; try a smaller
// size".
inline Failure opencl_failure(const cl::Error& error) {
    const auto name = [&]() -> std::string {
        switch (error.err()) {
// clang-format off
#define OPENCL_ERROR(code) case code: return #code
            // clang-format on
            OPENCL_ERROR(CL_DEVICE_NOT_AVAILABLE);
            OPENCL_ERROR(CL_MEM_OBJECT_ALLOCATION_FAILURE);
            OPENCL_ERROR(CL_OUT_OF_RESOURCES);
            OPENCL_ERROR(CL_OUT_OF_HOST_MEMORY);
            OPENCL_ERROR(CL_BUILD_PROGRAM_FAILURE);
            OPENCL_ERROR(CL_INVALID_VALUE);
            OPENCL_ERROR(CL_INVALID_BUFFER_SIZE);
            OPENCL_ERROR(CL_INVALID_BUILD_OPTIONS);
            OPENCL_ERROR(CL_INVALID_KERNEL_NAME);
            OPENCL_ERROR(CL_INVALID_KERNEL_ARGS);
            OPENCL_ERROR(CL_INVALID_ARG_SIZE);
            OPENCL_ERROR(CL_INVALID_WORK_GROUP_SIZE);
            OPENCL_ERROR(CL_INVALID_GLOBAL_WORK_SIZE);
#undef OPENCL_ERROR
            default:
                return format("error %d", error.err());
        }
    }();
    const bool memory =
        error.err() == CL_MEM_OBJECT_ALLOCATION_FAILURE || error.err() == CL_OUT_OF_RESOURCES ||
        error.err() == CL_OUT_OF_HOST_MEMORY || error.err() == CL_INVALID_BUFFER_SIZE;
    return Failure(kDeviceFailed, std::string(error.what()) + " failed: " + name +
                                      (memory ? "; try a smaller size" : ""));
}

struct FoundDevice {
    cl::Device device;
    std::string platform, name;
    bool gpu;
};

// A string without the blanks and the closing 0 that drivers put around it.
inline std::string trimmed(std::string text) {
    while (!text.empty() && (text.back() == '\0' || text.back() == ' ')) text.pop_back();
    return text.substr(std::min(text.find_first_not_of(' '), text.size()));
}

// PoCL needs a writable cache folder, or it offers no device. If the user's is read-only, provides
// one for the lifetime of this object.
class PoclCache {
public:
    PoclCache() {
        namespace fs = std::filesystem;
        const char *chosen = std::getenv("POCL_CACHE_DIR"), *cache = std::getenv("XDG_CACHE_HOME"),
                   *home = std::getenv("HOME");
        if (chosen) return;
        const fs::path usual =
            cache ? fs::path(cache) / "pocl" : fs::path(home ? home : "") / ".cache" / "pocl";
        std::error_code failed;
        fs::create_directories(usual, failed);
        if (!failed && access(usual.c_str(), W_OK) == 0) return;
        std::string folder = fs::temp_directory_path(failed) / "pocl-XXXXXX";
        if (!mkdtemp(&folder[0])) return;
        folder_ = folder;
        setenv("POCL_CACHE_DIR", folder.c_str(), 1);
    }
    ~PoclCache() {
        std::error_code ignored;
        if (!folder_.empty()) std::filesystem::remove_all(folder_, ignored);
    }
    PoclCache(const PoclCache&) = delete;
    PoclCache& operator=(const PoclCache&) = delete;

private:
    std::filesystem::path folder_;
};

// All devices of the platforms whose names hold `platform` ("": all), in the loader's order. Throws
// Failure: kNoGpu where there is no device at all, kBadCommandLine where there is none of that
// platform.
inline std::vector<FoundDevice> find_devices(const std::string& platform) {
    const auto lower = [](std::string text) {
        for (char& c : text) c = char(std::tolower(c));
        return text;
    };
    static const PoclCache cache;
    std::vector<cl::Platform> platforms;
    try {
        cl::Platform::get(&platforms);
    } catch (const cl::Error&) {  // the loader reports an error where it finds none
    }
    std::vector<FoundDevice> found;
    std::string names;
    for (const cl::Platform& each : platforms) {
        const std::string name = trimmed(each.getInfo<CL_PLATFORM_NAME>());
        std::vector<cl::Device> devices;
        try {
            each.getDevices(CL_DEVICE_TYPE_ALL, &devices);
        } catch (const cl::Error&) {  // a platform without devices is an error, too
        }
        if (devices.empty()) continue;
        names += (names.empty() ? "" : ", ") + name;
        if (lower(name).find(lower(platform)) == std::string::npos) continue;
        for (const cl::Device& device : devices)
            found.push_back({device, name, trimmed(device.getInfo<CL_DEVICE_NAME>()),
                             (device.getInfo<CL_DEVICE_TYPE>() & CL_DEVICE_TYPE_GPU) != 0});
    }
    if (names.empty())
        throw Failure(
            kNoGpu,
            "no OpenCL device; the package pocl-opencl-icd makes one of the CPU, and a GPU's driver is found by "
            "an .icd file in /etc/OpenCL/vendors or in the folder that OCL_ICD_VENDORS names");
    if (found.empty())
        throw Failure(kBadCommandLine, "--platform '" + platform +
                                           "': takes a part of one of these names: " + names);
    return found;
}

// Which of `found` is used: the one numbered `wanted`, or for -1 the first GPU, or without a GPU
// the first.
inline size_t choose_device(const std::vector<FoundDevice>& found, int wanted) {
    if (wanted >= int(found.size()))
        throw Failure(kBadCommandLine,
                      format("--device '%d': takes a number from 0 to %d; see --list", wanted,
                             int(found.size()) - 1));
    if (wanted >= 0) return size_t(wanted);
    for (size_t i = 0; i < found.size(); ++i)
        if (found[i].gpu) return i;
    return 0;
}

// A device in use, with a queue that records when each command began and ended.
struct InUse {
    explicit InUse(const cl::Device& chosen)
        : device(chosen), context(device), queue(context, device, CL_QUEUE_PROFILING_ENABLE) {}
    cl::Device device;
    cl::Context context;
    cl::CommandQueue queue;
};

// The device that arrays, programs and launches use. It is set while the object exists.
inline InUse* in_use = nullptr;

// `count` floats of the device's memory.
class OpenClArray {
public:
    using value_type = float;

    explicit OpenClArray(size_t count)
        : count_(count), buffer_(in_use->context, CL_MEM_READ_WRITE, count * sizeof(float)) {}

    const cl::Buffer& data() const { return buffer_; }
    // `first` in bytes must be a multiple of the device's CL_DEVICE_MEM_BASE_ADDR_ALIGN.
    cl::Buffer slice(size_t first, size_t count) {
        cl_buffer_region region = {first * sizeof(float), count * sizeof(float)};
        return buffer_.createSubBuffer(CL_MEM_READ_WRITE, CL_BUFFER_CREATE_TYPE_REGION, &region);
    }
    void upload(const std::vector<float>& values) {
        in_use->queue.enqueueWriteBuffer(buffer_, CL_TRUE, 0, count_ * sizeof(float),
                                         values.data());
    }
    void download(std::vector<float>& values) {
        values.resize(count_);
        in_use->queue.enqueueReadBuffer(buffer_, CL_TRUE, 0, count_ * sizeof(float), values.data());
    }

private:
    size_t count_;
    cl::Buffer buffer_;
};

// The kernel `name` of the file `path`. Throws Failure(kDeviceFailed); when the compiler refuses
// the file its log goes to stderr.
inline cl::Kernel build_kernel(const std::string& path, const std::string& name) {
    std::ifstream file(path);
    const std::string source((std::istreambuf_iterator<char>(file)),
                             std::istreambuf_iterator<char>());
    if (!file || source.empty())
        throw Failure(
            kBadCommandLine,
            "'" + path + "': can't be read; --kernels takes the folder with the .cl files");
    cl::Program program(in_use->context, source);
    try {
        // A multiply-add may be one instruction (v_mac_f32 on GCN) instead of a rounded product and
        // a rounded sum.
        program.build("-cl-std=CL1.2 -cl-mad-enable");
    } catch (const cl::BuildError& error) {
        for (const auto& [device, log] : error.getBuildLog())
            std::fprintf(stderr, "%s\n", trimmed(log).c_str());
        throw Failure(
            kDeviceFailed,
            "'" + path + "' does not compile on this device: its compiler's log is above");
    }
    return cl::Kernel(program, name.c_str());
}
