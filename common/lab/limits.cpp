#include "common/lab/limits.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

double attainable_gflops(const Gpu& gpu, const Arithmetic& arithmetic, Intensity intensity) {
    const double by_device = gpu.limit(gpu.memory(arithmetic)) * intensity.device;
    const double by_shared = gpu.limit(&Limits::shared_gbs) * intensity.shared;
    const double attainable = std::min(gpu.limit(arithmetic.peak), by_device);
    return intensity.shared > 0 ? std::min(attainable, by_shared) : attainable;
}

void print_gpu(const Gpu& gpu, const Arithmetic& arithmetic) {
    const double compute = gpu.limit(arithmetic.peak);
    const Limit memory = gpu.memory(arithmetic);
    std::printf("Predicted for the %s: %s (%s), %s%.0f GB/s,\n  shared memory %.0f GB/s (%s)\n",
                gpu.full_name.c_str(),
                compute > 0 ? format("%.0f GFLOP/s", compute).c_str() : "no figure",
                arithmetic.name, memory == &Limits::l2_gbs ? "L2 " : "", gpu.limit(memory),
                gpu.limit(&Limits::shared_gbs), gpu.source.c_str());
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
               {"l2", "gbs", &Limits::l2_gbs, false},
               {"shared_memory", "gbs", &Limits::shared_gbs, true},
               {"fp32_fma", "gflops", &Limits::fp32_gflops, true},
               {"fp16_pairs", "gflops", &Limits::half2_gflops, false},
               {"tensor_mma_sync", "gflops", &Limits::tensor_gflops, false},
               {"tensor_wgmma", "gflops", &Limits::wgmma_gflops, false}};
    const auto check = [&](bool good, const std::string& why) {
        if (!good) throw refused(option, path, why);
    };
    const auto positive = [&](const std::string& column, const std::string& text) {
        char* end = nullptr;
        const double value = text == "-" ? 0 : std::strtod(text.c_str(), &end);
        check(!end || (*end == '\0' && value > 0 && !std::isinf(value)),  // rejects NaN and ""
              column + " is '" + text + "', expected a number above 0, or -");
        return value;
    };
    check(std::filesystem::is_regular_file(path), "can't be read: is no file");
    std::ifstream file(path);
    Gpu gpu = {};
    std::vector<std::string> header;
    for (std::string line; std::getline(file, line);) {
        std::vector<std::string> cells;
        std::istringstream fields(line + ",");  // none of these fields holds a comma
        for (std::string cell; std::getline(fields, cell, ',');) cells.push_back(printable(cell));
        if (header.empty()) header = cells;
        check(cells.size() == header.size(),
              format("has a line of %zu fields, %zu expected", cells.size(), header.size()));
        const auto cell = [&](const std::string& column) {
            const auto found = std::find(header.begin(), header.end(), column);
            check(found != header.end(),
                  "has no column '" + column + "': roofline --csv writes it");
            return cells[found - header.begin()];
        };
        for (const auto& each : all) {
            if (cell("what") != each.what) continue;
            gpu.full_name = cell("gpu");
            gpu.measured.*each.limit = positive(each.column, cell(each.column));
            gpu.peak.*each.limit = positive("limit", cell("limit"));
        }
    }
    for (const auto& each : all)
        check(!each.needed || gpu.limit(each.limit) > 0,
              std::string("has no row '") + each.what + "'");
    gpu.source = (gpu.measured.fp32_gflops > 0 ? "measured, " : "published, ") + printable(path);
    return gpu;
}

static std::filesystem::path root() {
    return std::filesystem::path(__FILE__).parent_path().parent_path().parent_path();
}

std::vector<std::string> gpu_names() {
    std::vector<std::string> names;
    std::error_code none_there;
    for (const auto& each :
         std::filesystem::directory_iterator(root() / "docs" / "results", none_there))
        if (std::filesystem::exists(each.path() / "limits.csv"))
            names.push_back(each.path().filename());
    std::sort(names.begin(), names.end());
    return names;
}

Gpu gpu_named(const std::string& name) {
    const std::filesystem::path file = "docs/results/" + name + "/limits.csv";
    Gpu gpu = read_limits(root() / file, "--gpu " + name + ":");
    gpu.source.replace(gpu.source.find(' ') + 1, std::string::npos, file);
    return gpu;
}

std::optional<Gpu> find_gpu(const std::string& full_name) {
    for (const std::string& name : gpu_names()) {
        const Gpu gpu = gpu_named(name);
        if (gpu.full_name == full_name) return gpu;
    }
    return {};
}
