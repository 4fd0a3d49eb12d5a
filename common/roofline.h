// The roofline model: what memory bandwidth and peak arithmetic allow at a given arithmetic
// intensity. And its figures: of GPUs as published, or as 00_machine_limits/roofline measured them.
// Source: Williams, Waterman, Patterson, "Roofline", Communications of the ACM 52 (4), 2009; slides
// 19 to 23 of "Theory and practice of performance models" (Fixstars, 2022). Caches are ignored: the
// chapters say where that shows.
#pragma once

#include <dlfcn.h>

#include <optional>
#include <string>
#include <vector>

#include "common/report.h"
#include "common/stage.h"

struct Gpu {
    std::string name;  // as --gpu takes it
    std::string full_name;
    Limits peak;  // by the vendor's figures
    Limits measured;  // by 00_machine_limits; 0 where nothing was measured
    std::string source;

    // The limit to predict from: the measured one, or the vendor's if there is none.
    double limit(Limit which) const { return measured.*which > 0 ? measured.*which : peak.*which; }
};

// Flop per byte that the threads ask for. 0: they use no such memory.
struct Intensity {
    double device;  // of device memory, loads and stores
    double shared;  // of shared memory, loads
};

// GFLOP/s that the roofline allows: the lowest of the limits of arithmetic, device memory and
// shared memory. 0: no figure for this arithmetic on this GPU.
double attainable_gflops(const Gpu& gpu, const Arithmetic& arithmetic, Intensity intensity);

// Prints "Predicted for the NVIDIA H200: 65896 GFLOP/s (FP32), 4290 GB/s, ... (the source)".
void print_gpu(const Gpu& gpu, const Arithmetic& arithmetic);

// Appends the prediction for `gpu` to a row. measured_gflops: 0 if nothing was timed.
void add_prediction(Row& row, Intensity intensity, const Arithmetic& arithmetic, const Gpu& gpu,
                    double measured_gflops);

// The limits in a CSV that 00_machine_limits/roofline wrote. Throws Failure(kBadCommandLine) with
// one line that says what is wrong with the file.
Gpu read_limits(const std::string& path, const std::string& option = "--limits");

// The folder with a folder of results for each GPU that was measured: docs/results beside the
// sources that this was compiled from.
std::string results_folder();

// What --gpu takes: the published GPUs, and the folders below `results` that hold a limits.csv.
std::vector<std::string> gpu_names(const std::string& results = results_folder());

// The GPU of that name in gpu_names(): as measured where there are results, with published peaks.
Gpu gpu_named(const std::string& name, const std::string& results = results_folder());

// The GPU that its driver calls `full_name`, if known. Measured limits are preferred to published.
std::optional<Gpu> find_gpu(const std::string& full_name,
                            const std::string& results = results_folder());

// NVIDIA's driver library (NVML). It is loaded at run time, so that programs start without it.
class Nvml {
public:
    explicit Nvml(const std::string& bus_id)  // such as "0000:1B:00.0"
        : library_(dlopen("libnvidia-ml.so.1", RTLD_NOW)) {
        if (!library_ || call("nvmlInit_v2") != 0 ||
            call("nvmlDeviceGetHandleByPciBusId_v2", bus_id.c_str(), &device_) != 0)
            device_ = nullptr;
    }
    std::string driver() const {
        char version[96] = "unknown";
        if (device_) call("nvmlSystemGetDriverVersion", &version[0], unsigned(sizeof version));
        return version;
    }
    // MHz now, 0 if unknown.
    unsigned sm_clock() const { return ask("nvmlDeviceGetClockInfo", 1); }
    unsigned memory_clock() const { return ask("nvmlDeviceGetClockInfo", 2); }
    // Watts now, or averaged over the last second if the driver gives only that. 0 if unknown.
    double power() const {
        struct {  // nvmlFieldValue_t
            unsigned field, scope;
            long long timestamp, latency;
            int type, status;
            unsigned long long value;
        } now = {186, 0, 0, 0, 0, -1, 0};  // NVML_FI_DEV_POWER_INSTANT
        if (device_) call("nvmlDeviceGetFieldValues", device_, 1, static_cast<void*>(&now));
        return (now.status == 0 ? unsigned(now.value) : ask("nvmlDeviceGetPowerUsage")) * 1e-3;
    }

private:
    // What the driver's function returns: 0 if all went well.
    template <class... Arguments>
    int call(const char* name, Arguments... arguments) const {
        const auto function = reinterpret_cast<int (*)(Arguments...)>(dlsym(library_, name));
        if (!function) throw Failure(kDeviceFailed, std::string("libnvidia-ml.so.1 lacks ") + name);
        return function(arguments...);
    }
    // What it says of the device, 0 if nothing.
    template <class... Arguments>
    unsigned ask(const char* name, Arguments... arguments) const {
        unsigned said = 0;
        if (device_) call(name, device_, arguments..., &said);
        return said;
    }
    void *library_, *device_ = nullptr;
};

#ifndef HARNESS_COMPILED_APART

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>

// Published figures. Measured ones are in docs/results.
static const Gpu kPublished[] = {
    // Peaks: 3201 MHz x 2 x 6144 bits; 132 SMs x 128 bytes x 1.98 GHz; 132 x 128 lanes x 2 x 1.98
    // GHz; twice that; NVIDIA's H100 whitepaper, at 1.83 GHz.
    {"h200", "NVIDIA H200", {4916.7, 33454.1, 66908.2, 133816.3, 989400, 989400}, {}, "vendor"},
    // The same but for 2619 MHz x 2 x 5120 bits.
    {"h100",
     "NVIDIA H100 80GB HBM3",
     {3352.3, 33454.1, 66908.2, 133816.3, 989400, 989400},
     {},
     "vendor"},
    {"fury-x",
     "AMD Radeon R9 Fury X",
     {512, 8601.6, 8601.6, 0, 0},
     {392, 0, 0, 0, 0},
     "the slides, 38: bandwidth measured, read:write 2:1; 64 CUs x 64 lanes x 2 x 1.05 GHz; 36: 64 x "
     "128 bytes x 1.05 GHz"},
    {"rtx5060ti",
     "NVIDIA GeForce RTX 5060 Ti",
     {448, 11851.8, 23703.6, 0, 0},
     {},
     "vendor: 128 bits x 28 Gbit/s; 36 SMs x 128 bytes x 2.572 GHz; 4608 lanes x 2 x 2.572 GHz"},
    {"titan-v",
     "NVIDIA TITAN V",
     {652.8, 14899.2, 14899.2, 29798.4, 119193.6},
     {},
     "vendor: 3072 bits x 1.7 Gbit/s; 80 SMs x 128 bytes x 1.455 GHz; 5120 lanes x 2 x 1.455 GHz; 640 "
     "tensor cores x 128 x 1.455 GHz"},
};

double attainable_gflops(const Gpu& gpu, const Arithmetic& arithmetic, Intensity intensity) {
    const double by_device = gpu.limit(&Limits::bandwidth_gbs) * intensity.device;
    const double by_shared = gpu.limit(&Limits::shared_gbs) * intensity.shared;
    const double attainable = std::min(gpu.limit(arithmetic.peak), by_device);
    return intensity.shared > 0 ? std::min(attainable, by_shared) : attainable;
}

void print_gpu(const Gpu& gpu, const Arithmetic& arithmetic) {
    const double compute = gpu.limit(arithmetic.peak);
    const std::string text = format(
        "Predicted for the %s: %s (%s), %.0f GB/s, shared memory %.0f GB/s (%s)",
        gpu.full_name.c_str(), compute > 0 ? format("%.0f GFLOP/s", compute).c_str() : "no figure",
        arithmetic.name, gpu.limit(&Limits::bandwidth_gbs), gpu.limit(&Limits::shared_gbs),
        gpu.source.c_str());
    std::printf("%s\n", wrapped(text).c_str());
}

void add_prediction(Row& row, Intensity intensity, const Arithmetic& arithmetic, const Gpu& gpu,
                    double measured_gflops) {
    const double predicted = attainable_gflops(gpu, arithmetic, intensity);
    const bool both = predicted > 0 && measured_gflops > 0;
    row += {{"flop_per_byte", figure(intensity.device, "%.2f")},
            {"shared_flop_per_byte", figure(intensity.shared, "%.2f")},
            {"predicted_gflops", figure(predicted)},
            {"measured_of_predicted", both ? format("%.2f", measured_gflops / predicted) : "-"}};
}

Gpu read_limits(const std::string& path, const std::string& option) {
    const struct {
        const char *what, *column;
        Limit limit;
        bool needed;
    } all[] = {{"copy", "gbs", &Limits::bandwidth_gbs, true},
               {"shared_memory", "gbs", &Limits::shared_gbs, true},
               {"fp32_fma", "gflops", &Limits::fp32_gflops, true},
               {"fp16_pairs", "gflops", &Limits::half2_gflops, false},
               {"tensor_mma_sync", "gflops", &Limits::tensor_gflops, false},
               {"tensor_wgmma", "gflops", &Limits::wgmma_gflops, false}};
    const std::vector<CsvRow> rows =
        read_csv(option, path, {"what", "gbs", "gflops", "limit", "gpu"});
    const auto check = [&](bool good, const std::string& why) {
        if (!good) throw refused(option, path, why);
    };
    const auto positive = [&](const CsvRow& row, const std::string& column) {
        const std::string& text = row.at(column);
        char* end = nullptr;
        const double value = std::strtod(text.c_str(), &end);
        check(*end == '\0' && value > 0 && !std::isinf(value),  // rejects NaN and ""
              column + " is '" + text + "', expected a number above 0");
        return value;
    };
    Gpu gpu = {"", rows[0].at("gpu"), {}, {}, "measured, " + printable(path)};
    for (const auto& each : all) {
        const auto row = std::find_if(rows.rbegin(), rows.rend(), [&](const CsvRow& row) {
            return row.at("what") == each.what;
        });
        check(row != rows.rend() || !each.needed, std::string("has no row '") + each.what + "'");
        if (row == rows.rend()) continue;
        gpu.measured.*each.limit = positive(*row, each.column);
        if (row->at("limit") != "-") gpu.peak.*each.limit = positive(*row, "limit");
    }
    return gpu;
}

std::string results_folder() {
    return std::filesystem::path(__FILE__).parent_path().parent_path() / "docs" / "results";
}

std::vector<std::string> gpu_names(const std::string& results) {
    std::vector<std::string> names;
    for (const Gpu& gpu : kPublished) names.push_back(gpu.name);
    std::error_code none_there;
    for (const auto& entry : std::filesystem::directory_iterator(results, none_there)) {
        const std::string name = entry.path().filename();
        if (std::filesystem::exists(entry.path() / "limits.csv") &&
            !std::count(names.begin(), names.end(), name))
            names.push_back(name);
    }
    std::sort(names.begin() + std::size(kPublished), names.end());
    return names;
}

Gpu gpu_named(const std::string& name, const std::string& results) {
    const std::string file = "/" + name + "/limits.csv", path = results + file;
    if (!std::filesystem::exists(path))
        return *std::find_if(std::begin(kPublished), std::end(kPublished),
                             [&](const Gpu& gpu) { return gpu.name == name; });
    Gpu gpu = read_limits(path, "--gpu " + name + ":");
    gpu.name = name;
    gpu.source = "measured, docs/results" + file;
    for (const Gpu& published : kPublished)
        if (published.full_name == gpu.full_name) gpu.peak = published.peak;
    return gpu;
}

std::optional<Gpu> find_gpu(const std::string& full_name, const std::string& results) {
    std::optional<Gpu> found;
    for (const std::string& name : gpu_names(results)) try {
            const Gpu gpu = gpu_named(name, results);
            if (gpu.full_name == full_name && (!found || found->measured.fp32_gflops == 0))
                found = gpu;
        } catch (const Failure&) {
            // Ignore a bad CSV here. --gpu NAME reports it.
        }
    return found;
}

#endif  // HARNESS_COMPILED_APART
