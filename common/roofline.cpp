#include "common/roofline.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <system_error>
#include <utility>

#include "common/errors.h"

namespace fs = std::filesystem;

Traffic stated_traffic(const Facts& facts, double M, double N, double K, int in_bytes,
                       int out_bytes) {
    if (!facts.loaded_elements) return {};
    const double of_c = M * N;
    const double more = facts.stored_elements ? facts.stored_elements(M, N, K) - of_c : 0;
    return {in_bytes * facts.loaded_elements(M, N, K), out_bytes * of_c + sizeof(float) * more,
            facts.shared_loaded_bytes ? facts.shared_loaded_bytes(M, N, K) : 0};
}

double attainable_gflops(const Gpu& gpu, const Arithmetic& arithmetic, double flop_per_byte,
                         double shared_flop_per_byte) {
    const double by_device = gpu.limit(gpu.memory(arithmetic)) * flop_per_byte;
    const double by_shared = gpu.limit(&Limits::shared_gbs) * shared_flop_per_byte;
    const double attainable = std::min(gpu.limit(arithmetic.peak) / arithmetic.products, by_device);
    return shared_flop_per_byte > 0 ? std::min(attainable, by_shared) : attainable;
}

void print_gpu(const Gpu& gpu, const Arithmetic& arithmetic) {
    const double compute = gpu.limit(arithmetic.peak) / arithmetic.products;
    const Limit memory = gpu.memory(arithmetic);
    std::printf("Predicted for the %s: %s (%s), %s%.0f GB/s,\n  shared memory %.0f GB/s (%s)\n",
                gpu.full_name.c_str(),
                compute > 0 ? format("%.0f GFLOP/s", compute).c_str() : "no figure",
                arithmetic.name, memory == &Limits::l2_gbs ? "L2 " : "", gpu.limit(memory),
                gpu.limit(&Limits::shared_gbs), gpu.source.c_str());
}

void add_prediction(Row& row, double flop, const Traffic& traffic, const Arithmetic& arithmetic,
                    const Gpu& gpu, double measured_gflops) {
    const double bytes = traffic.loaded + traffic.stored;
    const double device = bytes > 0 ? flop / bytes : 0;
    const double shared = traffic.shared > 0 ? flop / traffic.shared : 0;
    const double predicted = attainable_gflops(gpu, arithmetic, device, shared);
    add_cells(row, {{"flop_per_byte", figure(device, "%.2f")},
                    {"shared_flop_per_byte", figure(shared, "%.2f")},
                    {"predicted_gflops", figure(predicted)},
                    {"measured_of_predicted",
                     figure(predicted > 0 ? measured_gflops / predicted : 0, "%.2f")}});
}

static fs::path root() { return fs::path(__FILE__).parent_path().parent_path(); }

Gpu read_limits(const std::string& path) {
    const std::pair<std::string, Limit> all[] = {
        {"copy", &Limits::bandwidth_gbs},
        {"shared_memory", &Limits::shared_gbs},
        {"fp32_fma", &Limits::fp32_gflops},  // these three are needed
        {"l2", &Limits::l2_gbs},
        {"half2_fma", &Limits::half2_gflops},
        {"tensor_mma_sync", &Limits::tensor_gflops},
        {"tensor_wgmma", &Limits::wgmma_gflops}};
    std::error_code error;  // without it a name that is too long throws
    if (!fs::is_regular_file(path, error))  // reading /dev/zero would never end
        throw Failure(kBadCommandLine, "is not a file");
    Gpu gpu = {};
    std::ifstream file(path);
    std::vector<std::string> header;
    for (std::string line; std::getline(file, line);) {
        std::vector<std::string> cells;
        std::istringstream fields(line + ",");  // none of these fields holds a comma
        for (std::string cell; std::getline(fields, cell, ',');) cells.push_back(cell);
        if (header.empty()) header = cells;
        const auto cell = [&](const std::string& column) {
            const size_t at = std::find(header.begin(), header.end(), column) - header.begin();
            return at < cells.size() ? cells[at] : "-";
        };
        const auto number = [&](const std::string& column) {
            const std::string text = cell(column);
            char* end = nullptr;
            const double value = text == "-" ? 0 : std::strtod(text.c_str(), &end);
            if (!end || (*end == '\0' && value > 0 && std::isfinite(value))) return value;
            throw Failure(kBadCommandLine, column + " is '" + text + "', no number above 0 nor -");
        };
        for (const auto& [what, limit] : all) {
            if (cell("what") != what) continue;
            gpu.full_name = cell("gpu");
            gpu.measured.*limit = number("gbs") + number("gflops");  // one of them is "-"
            gpu.peak.*limit = number("limit");
        }
    }
    for (int i = 0; i < 3; ++i)
        if (gpu.limit(all[i].second) == 0)
            throw Failure(kBadCommandLine,
                          "has no figure of '" + all[i].first + "', as roofline writes it");
    gpu.source = (gpu.measured.fp32_gflops > 0 ? "measured, " : "published, ") +
                 fs::path(path).lexically_proximate(root()).string();
    return gpu;
}

std::vector<std::string> gpu_names() {
    std::vector<std::string> names;
    std::error_code none_there;
    for (const auto& each : fs::directory_iterator(root() / "docs/results", none_there))
        if (fs::exists(each.path() / "limits.csv")) names.push_back(each.path().filename());
    std::sort(names.begin(), names.end());
    return names;
}

Gpu gpu_named(const std::string& name) {
    const std::string file = root() / "docs/results" / name / "limits.csv";
    return with_context(file, [&] { return read_limits(file); });
}

std::optional<Gpu> find_gpu(const std::string& full_name) {
    for (const std::string& name : gpu_names())
        if (const Gpu gpu = gpu_named(name); gpu.full_name == full_name) return gpu;
    return {};
}
