#include "common/lab/limits.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

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
    const auto check = [&](bool good, const std::string& why) {
        if (!good) throw refused(option, path, why);
    };
    check(std::filesystem::is_regular_file(path), "can't be read: is no file");
    std::ifstream file(path);
    std::vector<std::string> header;
    std::map<std::string, std::map<std::string, std::string>> rows;  // by the column "what"
    for (std::string line; std::getline(file, line);) {
        std::vector<std::string> cells;
        std::istringstream fields(line + ",");  // none of roofline's fields holds a comma
        for (std::string cell; std::getline(fields, cell, ',');) cells.push_back(cell);
        if (header.empty()) header = cells;
        for (const char* column : {"what", "gbs", "gflops", "limit", "gpu"})
            check(std::count(header.begin(), header.end(), column),
                  std::string("has no column '") + column + "': roofline --csv writes it");
        check(cells.size() == header.size(),
              format("has a line of %zu fields, %zu expected", cells.size(), header.size()));
        std::map<std::string, std::string> row;
        for (size_t i = 0; i < cells.size(); ++i) row[header[i]] = printable(cells[i]);
        rows[row["what"]] = row;
    }
    const auto positive = [&](const std::string& column, const std::string& text) {
        char* end = nullptr;
        const double value = std::strtod(text.c_str(), &end);
        check(*end == '\0' && value > 0 && !std::isinf(value),  // rejects NaN and ""
              column + " is '" + text + "', expected a number above 0");
        return value;
    };
    Gpu gpu = {"", "", {}, {}, "measured, " + printable(path)};
    for (const auto& each : all) {
        const auto row = rows.find(each.what);
        check(row != rows.end() || !each.needed, std::string("has no row '") + each.what + "'");
        if (row == rows.end()) continue;
        if (gpu.full_name.empty()) gpu.full_name = row->second["gpu"];
        gpu.measured.*each.limit = positive(each.column, row->second[each.column]);
        const std::string limit = row->second["limit"];
        if (limit != "-") gpu.peak.*each.limit = positive("limit", limit);
    }
    return gpu;
}

std::string results_folder() {
    return std::filesystem::path(__FILE__).parent_path().parent_path().parent_path() / "docs" /
           "results";
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
