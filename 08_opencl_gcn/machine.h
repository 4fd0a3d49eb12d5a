// A device at work: verifies the stages, then times them beside CLBlast and the roofline's
// prediction.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "08_opencl_gcn/clblast.h"
#include "08_opencl_gcn/product.h"
#include "common/errors.h"
#include "common/facts.h"
#include "common/nvml.h"
#include "common/operands.h"
#include "common/options.h"
#include "common/roofline.h"
#include "common/table.h"
#include "common/timing.h"
#include "common/verify.h"

// Throws Failure(kDeviceFailed) unless the host has so many bytes of memory available: Linux would
// otherwise kill the program.
inline void need_memory(double bytes) {
    // Linux's own estimate: free memory, and caches that it would drop.
    std::ifstream file("/proc/meminfo");
    std::string word;
    double kib = std::numeric_limits<double>::infinity();
    while (word != "MemAvailable:" && file >> word) continue;
    file >> kib;
    if (!(bytes > 1024 * kib)) return;
    throw Failure(kDeviceFailed, format("needs %.2f GiB of memory, %.2f GiB are available; try a "
                                        "smaller size",
                                        bytes / (1 << 30), kib / (1 << 20)));
}

class OpenClMachine {
public:
    OpenClMachine(const Options& options, const FoundDevice& found)
        : options_(options), in_use_(found.device), nvml_(bus_id(found.device)), name_(found.name),
          driver_(trimmed(found.device.getInfo<CL_DRIVER_VERSION>())),
          version_(trimmed(found.device.getInfo<CL_DEVICE_VERSION>())), known_(find_gpu(name_)) {
        in_use = &in_use_;
        predicted_ = options.gpu.value_or(known_.value_or(gpu_named("fury-x")));
        std::printf("%s (%s), driver %s,\n  %s, %u compute units, clock up to %u MHz\n",
                    name_.c_str(), found.platform.c_str(), driver_.c_str(), version_.c_str(),
                    found.device.getInfo<CL_DEVICE_MAX_COMPUTE_UNITS>(),
                    found.device.getInfo<CL_DEVICE_MAX_CLOCK_FREQUENCY>());
        print_gpu(predicted_, kFp32);
        const size_t most = found.device.getInfo<CL_DEVICE_MAX_WORK_GROUP_SIZE>();
        if (most < size_t(kGroup) * kGroup)
            throw Failure(
                kDeviceFailed,
                format("%s takes at most %zu work-items in a work-group, the kernels need %d",
                       name_.c_str(), most, kGroup * kGroup));
    }
    ~OpenClMachine() { in_use = nullptr; }
    OpenClMachine(const OpenClMachine&) = delete;
    OpenClMachine& operator=(const OpenClMachine&) = delete;

    Columns columns() const {
        if (options_.verify_only) return kVerifiedColumns;
        return {{"median_ms", "time", 10, as_time},
                {"gflops", "TFLOP/s", 9, as_tera},
                {"percent_of_peak", "of|peak", 7, as_percent},
                {"percent_of_clblast", "of|CLBlast", 8, as_percent},
                {"predicted_gflops", "predicted|TFLOP/s", 11, as_tera},
                {"measured_of_predicted", "ratio", 7}};
    }

    // Verifies `stage` on one shape, then times it, unless that is enough. Throws Failure and
    // cl::Error.
    Row run(const OpenClStage& stage, const cl::Kernel& matmul, const cl::Kernel& resize, Shape s,
            bool verify_only) {
        const std::string what = std::string(stage.name) + " " + to_string(s);
        const Shape p = padded(stage, s);
        check_memory(s, p);
        progress(what + ": verifying");
        Operands x(s);
        Product product(stage, matmul, resize, x);
        const auto launch = [&] {
            product.clear();
            product.launch();
            product.wait();
        };
        verify_exact(x, kFp32, options_.seed, launch);
        const double error = verify_reals(x, kFp32, options_.seed, launch);
        Row row = row_of(stage.name, s, error);
        double gflops = 0;
        if (!verify_only) {
            progress(what + ": timing");
            x.set_timed(options_.seed);
            gflops = time(product, x, row);
        }
        const double loaded = 4 * stage.loaded_elements(p.M, p.N, p.K), stored = 4.0 * p.M * p.N;
        const double local = stage.local_loaded_bytes ? stage.local_loaded_bytes(p.M, p.N, p.K) : 0;
        add_cells(row, {{"kernel_load_bytes", format("%.0f", loaded)},
                        {"kernel_store_bytes", format("%.0f", stored)},
                        {"kernel_local_load_bytes", format("%.0f", local)}});
        add_prediction(row, 2.0 * s.M * s.N * s.K, {loaded, stored, local}, kFp32, predicted_,
                       gflops);
        add_cells(row, {{"predicted_for", predicted_.full_name},
                        {"gpu", name_},
                        {"driver", driver_},
                        {"opencl", version_},
                        {"date", today()}});
        return row;
    }

private:
    // Checks before anything is allocated, because many drivers overcommit memory.
    void check_memory(Shape s, Shape p) const {
        const auto bytes = [](Shape x) {
            return 4 * (double(x.M) * x.K + double(x.K) * x.N + double(x.M) * x.N);
        };
        const bool shared = in_use_.device.getInfo<CL_DEVICE_HOST_UNIFIED_MEMORY>();
        need_memory(bytes(s) + (shared ? bytes(s) + bytes(p) : 0));
        const double needed = bytes(s) + bytes(p),
                     there = double(in_use_.device.getInfo<CL_DEVICE_GLOBAL_MEM_SIZE>());
        if (needed > there)
            throw Failure(
                kDeviceFailed,
                format(
                    "the matrices and their padded copies take %.1f GiB, %s has %.1f; try a smaller size",
                    needed / (1 << 30), name_.c_str(), there / (1 << 30)));
    }

    // Milliseconds of each launch: after one to warm up, `repeat` that each follow a rest and find
    // the cache cold. The reasons are those of common/machine_gpu.cu.
    Times times_of(const std::function<double()>& launch_and_wait) {
        launch_and_wait();
        std::vector<float> ms;
        for (int r = 0; r < options_.repeat; ++r) {
            std::this_thread::sleep_for(std::chrono::milliseconds(10));
            flush();
            ms.push_back(float(launch_and_wait()));
        }
        return summarize(ms);
    }

    // Reads zeros and writes nothing, so that nothing is left to be written back while a launch is
    // timed.
    void flush() {
        using Flush = cl::KernelFunctor<cl::Buffer>;
        if (!flush_()) {
            zeros_ = OpenClArray(kFlushBytes / sizeof(float)).data();
            in_use_.queue.enqueueFillBuffer(zeros_, 0.0f, 0, kFlushBytes);
            const char* source =
                "kernel void flush(global float* x) { if (x[get_global_id(0)] != 0) x[0] = 1; }";
            flush_ = cl::Kernel(cl::Program(in_use_.context, source, true), "flush");
        }
        Flush{flush_}(cl::EnqueueArgs(in_use_.queue, cl::NDRange(kFlushBytes / sizeof(float))),
                      zeros_);
    }

    // Adds the times to the row; returns GFLOP/s.
    double time(Product& product, Operands& x, Row& row) {
        const Shape s = x.shape;
        const double flop = 2.0 * s.M * s.N * s.K;
        unsigned sm_clock = 0, memory_clock = 0;
        const Times times = times_of([&] {
            product.launch();
            sm_clock = nvml_.sm_clock();
            memory_clock = nvml_.memory_clock();
            return product.wait();
        });
        add_times(row, times, flop, known_ ? known_->peak.fp32_gflops : 0);
        Times theirs = {};
        if (clblast_) {
            const cl::Buffer C = x.C_device();
            theirs = times_of([&] {
                cl::Event begin, end;  // two markers around its several kernels
                in_use_.queue.enqueueMarkerWithWaitList(nullptr, &begin);
                clblast_.multiply(s.M, s.N, s.K, x.A_device.data(), x.B_device.data(), C);
                in_use_.queue.enqueueMarkerWithWaitList(nullptr, &end);
                end.wait();
                return (end.getProfilingInfo<CL_PROFILING_COMMAND_END>() -
                        begin.getProfilingInfo<CL_PROFILING_COMMAND_END>()) *
                       1e-6;
            });
        }
        add_library(row, "clblast", flop, times, theirs);
        add_cells(row, {{"repeats", std::to_string(options_.repeat)},
                        {"sm_mhz", figure(sm_clock)},
                        {"clock_by", sm_clock ? "nvml" : "-"},
                        {"memory_mhz", figure(memory_clock)}});
        return flop / times.median * 1e-6;
    }

    // Returns the address by which NVML finds a device of NVIDIA's, "" for others.
    static std::string bus_id(const cl::Device& device) {
        if (device.getInfo<CL_DEVICE_EXTENSIONS>().find("cl_nv_device_attribute_query") ==
            std::string::npos)
            return "";
        cl_uint bus = 0, slot = 0, domain = 0;
        // CL_DEVICE_PCI_BUS_ID_NV, CL_DEVICE_PCI_SLOT_ID_NV and CL_DEVICE_PCI_DOMAIN_ID_NV.
        device.getInfo(0x4008, &bus);
        device.getInfo(0x4009, &slot);
        device.getInfo(0x400A, &domain);
        return format("%04x:%02x:%02x.0", domain, bus, slot);
    }

    // More than the last-level cache has. OpenCL's query of a cache's size does not say which
    // cache.
    static constexpr size_t kFlushBytes = size_t(256) << 20;
    Options options_;
    InUse in_use_;
    cl::Kernel flush_;  // built when it is first needed
    cl::Buffer zeros_;
    Nvml nvml_;
    Clblast clblast_;
    std::string name_, driver_, version_;
    std::optional<Gpu> known_;
    Gpu predicted_;
};
