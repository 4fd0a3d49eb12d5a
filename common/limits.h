// The limits of a GPU: out of the CSV that 00_machine_limits/roofline wrote there, or as published.
#pragma once

#include <algorithm>
#include <filesystem>
#include <optional>

#include "common/csv.h"
#include "common/roofline.h"

// Throws Failure(kBadCommandLine) with one line that says what is wrong with the file.
inline Gpu read_limits(const std::string& path, const std::string& option = "--limits") {
    struct Measured {
        const char *what, *column;
        Limit limit;
        bool needed;
    };
    const Measured all[] = {{"copy", "gbs", &Limits::bandwidth_gbs, true},
                            {"shared_memory", "gbs", &Limits::shared_gbs, true},
                            {"fp32_fma", "gflops", &Limits::fp32_gflops, true},
                            {"fp16_pairs", "gflops", &Limits::half2_gflops, false},
                            {"tensor_mma_sync", "gflops", &Limits::tensor_gflops, false}};
    const std::vector<CsvRow> rows =
        read_csv(option, path, {"what", "gbs", "gflops", "limit", "gpu"});
    Gpu gpu = {"", rows[0].at("gpu"), {}, {}, "measured, " + printable(path)};
    for (const Measured& each : all) {
        const CsvRow* found = nullptr;
        for (const CsvRow& row : rows)
            if (row.at("what") == each.what) found = &row;
        if (!found && each.needed)
            throw Failure(kBadCommandLine,
                          option + " '" + path + "': has no row '" + each.what + "'");
        if (!found) continue;
        gpu.measured.*each.limit = positive(option, path, *found, each.column);
        if (found->at("limit") != "-")
            gpu.peak.*each.limit = positive(option, path, *found, "limit");
    }
    return gpu;
}

// The folder with a folder of results for each GPU that was measured: docs/results beside the sources that this was compiled from.
inline std::filesystem::path results_folder() {
    return std::filesystem::path(__FILE__).parent_path().parent_path() / "docs" / "results";
}

// What --gpu takes: the published GPUs, and the folders below `results` that hold a limits.csv.
inline std::vector<std::string> gpu_names(const std::filesystem::path& results = results_folder()) {
    std::vector<std::string> names, folders;
    for (const Gpu& gpu : kGpus) names.push_back(gpu.name);
    std::error_code none_there;
    for (const auto& entry : std::filesystem::directory_iterator(results, none_there))
        if (std::filesystem::exists(entry.path() / "limits.csv"))
            folders.push_back(entry.path().filename().string());
    std::sort(folders.begin(), folders.end());
    for (const std::string& folder : folders)
        if (std::find(names.begin(), names.end(), folder) == names.end()) names.push_back(folder);
    return names;
}

// The GPU that is called `name` in gpu_names(): measured where there are results, with published peaks where there are such.
inline Gpu gpu_named(const std::string& name,
                     const std::filesystem::path& results = results_folder()) {
    const std::string file = "/" + name + "/limits.csv", path = results.string() + file;
    if (!std::filesystem::exists(path))
        return *std::find_if(std::begin(kGpus), std::end(kGpus),
                             [&](const Gpu& gpu) { return gpu.name == name; });
    Gpu gpu = read_limits(path, "--gpu " + name + ":");
    gpu.name = name;
    gpu.source = "measured, docs/results" + file;
    for (const Gpu& published : kGpus)
        if (published.full_name == gpu.full_name) gpu.peak = published.peak;
    return gpu;
}

// The GPU that its driver calls `full_name`, where it is known: rather as measured than as published.
inline std::optional<Gpu> find_gpu(const std::string& full_name,
                                   const std::filesystem::path& results = results_folder()) {
    std::optional<Gpu> found;
    for (const std::string& name : gpu_names(results)) try {
            const Gpu gpu = gpu_named(name, results);
            if (gpu.full_name == full_name && (!found || found->measured.fp32_gflops == 0))
                found = gpu;
        } catch (
            const Failure&) {  // results that can't be read are no results; --gpu NAME says why
        }
    return found;
}
