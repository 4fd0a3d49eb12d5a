// Functions that the tests of emulated kernels share and that need no kernel.
#include "device.h"

#include <fstream>
#include <regex>

void Base::SetUp() {
    emulator::set_order(Order::forward);
    emulator::set_architecture(90);
    emulator::reset_counts();
    cudaGetLastError();
}

std::string named(const std::string& text) {
    static const std::regex kPlace("(tests/)?(\\w+\\.cu):(\\d+)"), kMark(".*// (@\\w+)");
    const std::string folder =
        std::string(__FILE__).substr(0, std::string(__FILE__).rfind('/') + 1);
    std::string result, rest = text;
    for (std::smatch place; std::regex_search(rest, place, kPlace);) {
        std::ifstream source(folder + place[2].str());
        std::string line;
        for (int i = std::stoi(place[3]); i > 0; --i) std::getline(source, line);
        std::smatch mark;
        const bool marked = std::regex_match(line, mark, kMark);
        result += place.prefix().str() + (marked ? mark[1] : place[0]).str();
        rest = std::string(place[0].second, rest.cend());
    }
    return result + rest;
}

std::string problem() {
    std::string all;
    for (const std::string& p : emulator::counts().problems) all += (all.empty() ? "" : "\n") + p;
    return named(all);
}

namespace {

bool holds(const std::string& report, const std::string& pieces) {
    size_t at = 0;
    for (size_t begin = 0, end; begin <= pieces.size(); begin = end + 2) {
        end = std::min(pieces.find("..", begin), pieces.size());
        const std::string piece = pieces.substr(begin, end - begin);
        if ((at = report.find(piece, at)) == report.npos) return false;
        at += piece.size();
    }
    return true;
}

bool any_holds(const std::string& report, const Said& said) {
    for (const std::string& pieces : said)
        if (holds(report, pieces)) return true;
    return false;
}

void expect(const Said& said, cudaError_t error, const char* file, int line) {
    const testing::ScopedTrace trace(file, line, "");
    const std::string all = problem();
    EXPECT_TRUE(any_holds(all, said) && emulator::counts().problems.size() == 1)
        << said[0] << "\nis not what was reported:\n"
        << all;
    EXPECT_EQ(cudaGetLastError(), error);
    emulator::reset_counts();
}

}  // namespace

void expect_problem(const Said& said, const char* file, int line) {
    expect(said, cudaSuccess, file, line);
}
void expect_failure(const Said& said, cudaError_t error, const char* file, int line) {
    expect(said, error, file, line);
}
void expect_silence(const char* file, int line) {
    const testing::ScopedTrace trace(file, line, "");
    EXPECT_EQ(problem(), "");
    EXPECT_EQ(cudaGetLastError(), cudaSuccess);
    emulator::reset_counts();
}
void expect_some(const Said& said, const char* file, int line) {
    const testing::ScopedTrace trace(file, line, "");
    bool any = false;
    for (const std::string& p : emulator::counts().problems) any |= any_holds(named(p), said);
    EXPECT_TRUE(any) << said[0] << "\nis not among what was reported:\n" << problem();
    cudaGetLastError();
    emulator::reset_counts();
}
Said race(const std::string& memory, const std::string& one, const std::string& other) {
    const std::string head = "race in " + memory + " memory: ";
    return {head + one + " what " + other, head + other + " what " + one};
}
void expect_missing_lanes(const std::string& place, const std::string& thread, const char* file,
                          int line) {
    expect({"warp divergence: thread " + thread + " ..at " + place + " ",
            "warp divergence: threads " + thread + " ..at " + place + " "},
           cudaErrorLaunchFailure, file, line);
}

#define TRAFFIC(name, kind, cost, ideal)                                    \
    Traffic name() {                                                        \
        const auto& c = emulator::counts();                                 \
        return {c.kind##_requests, c.kind##_##cost, ideal, c.kind##_bytes}; \
    }
TRAFFIC(global_loads, global_load, sectors, 0)
TRAFFIC(global_stores, global_store, sectors, 0)
TRAFFIC(shared_loads, shared_load, wavefronts, c.shared_load_ideal)
TRAFFIC(shared_stores, shared_store, wavefronts, c.shared_store_ideal)
