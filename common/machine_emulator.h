// The CPU build: verifies a stage in three thread orders and counts what it moves. It times nothing.
#pragma once

#include "common/roofline.h"
#include "common/stage.h"
#include "emulator/emulator.h"

class Machine {
public:
    static constexpr bool kEmulated = true;
    static constexpr int kDefaultSize = 256;

    explicit Machine(const Options& options) : options_(options), gpu_(options.gpu ? *options.gpu : kGpus[0]) {}

    void print_header(const Stage&) {
        std::printf("CPU emulator: verifies and counts, does not time. Predictions are for the %s: %.0f GFLOP/s, %.0f GB/s\n",
                    gpu_.full_name, gpu_.peak_gflops, gpu_.bandwidth_gbs);
        std::printf("%-22s %-18s %-12s", "stage", "M x N x K", "verified");
        if (emulator::tracing())
            std::printf(" %12s %9s %9s %9s %9s", "loaded bytes", "flop/byte", "sectors/", "conflict", "barriers");
        std::printf(" %10s\n", "predicted");
        std::printf("%-22s %-18s %-12s", "", "", "");
        if (emulator::tracing()) std::printf(" %12s %9s %9s %9s %9s", "from global", "", "request", "factor", "per block");
        std::printf(" %10s\n", "GFLOP/s");
    }

    CsvFile::Row run(const Stage& stage, Shape shape) {
        Operands x(shape);
        x.set_integers(options_.seed);
        emulator::Counts counts;
        for (const char* order : {"forward", "reverse", "random"}) {
            if (options_.order != "all" && options_.order != order) continue;
            progress(std::string(stage.name) + " " + to_string(shape) + ", threads in " + order + " order");
            try {
                emulator::set_order(order[0] == 'f'   ? emulator::Order::forward
                                    : order[2] == 'v' ? emulator::Order::reverse
                                                      : emulator::Order::random,
                                    options_.seed);
                emulator::reset_counts();
                run_once(stage, x);
                counts = emulator::counts();
                check_counts(stage, shape, counts);
                const std::string wrong = check_exact(shape, x.A, x.B, x.C.host());
                if (!wrong.empty()) throw Failure(kWrongResult, wrong);
            } catch (const Failure& failure) {
                const std::string problem = emulator::counts().problems.empty() ? "" : emulator::counts().problems[0] + "; ";
                throw Failure(failure.code,
                              to_string(shape) + ", threads in " + order + " order: " + problem + failure.what());
            }
        }
        x.set_reals(options_.seed);
        const double error = verify_accuracy(stage, x);
        progress("");
        return report(stage, shape, counts, error);
    }

private:
    // The traffic must be what the chapter says, and nothing may race.
    static void check_counts(const Stage& stage, Shape s, const emulator::Counts& counts) {
        if (!counts.problems.empty()) throw Failure(kWrongResult, "the emulator's report above stops the run");
        if (!emulator::tracing()) return;
        const double loaded = sizeof(float) * stage.loaded_floats(s.M, s.N, s.K);
        if (double(counts.global_load_bytes) != loaded)
            throw Failure(kWrongResult, format("%.0f bytes were loaded from global memory, the chapter's formula says %.0f",
                                               double(counts.global_load_bytes), loaded));
        const double stored = sizeof(float) * double(s.M) * s.N;
        if (double(counts.global_store_bytes) != stored)
            throw Failure(kWrongResult, format("%.0f bytes were stored to global memory, C has %.0f",
                                               double(counts.global_store_bytes), stored));
    }

    CsvFile::Row report(const Stage& stage, Shape s, const emulator::Counts& c, double error) {
        const double intensity = arithmetic_intensity(stage, s);
        const double predicted = attainable_gflops(gpu_, intensity);
        const double sectors = ratio(c.global_load_sectors, c.global_load_requests);
        const double conflicts = ratio(c.shared_load_wavefronts + c.shared_store_wavefronts,
                                       c.shared_load_ideal + c.shared_store_ideal);
        const double barriers = ratio(c.barriers, c.blocks);
        std::printf("%-22s %-18s %-12s", stage.name, to_string(s).c_str(), "exact");
        if (emulator::tracing())
            std::printf(" %12.0f %9.2f %9.2f %9s %9.0f", double(c.global_load_bytes), intensity, sectors,
                        conflicts > 0 ? format("%.2f", conflicts).c_str() : "-", barriers);
        std::printf(" %10.0f\n", predicted);
        if (options_.lines) print_lines(c);
        CsvFile::Row row = {{"stage", stage.name},
                            {"m", std::to_string(s.M)},
                            {"n", std::to_string(s.N)},
                            {"k", std::to_string(s.K)},
                            {"error_of_bound", format("%.4f", error)}};
        if (emulator::tracing())
            row.insert(row.end(), {{"global_load_bytes", std::to_string(c.global_load_bytes)},
                                   {"global_load_requests", std::to_string(c.global_load_requests)},
                                   {"global_load_sectors", std::to_string(c.global_load_sectors)},
                                   {"global_store_bytes", std::to_string(c.global_store_bytes)},
                                   {"shared_load_wavefronts", std::to_string(c.shared_load_wavefronts)},
                                   {"shared_load_ideal", std::to_string(c.shared_load_ideal)},
                                   {"shared_store_wavefronts", std::to_string(c.shared_store_wavefronts)},
                                   {"shared_store_ideal", std::to_string(c.shared_store_ideal)},
                                   {"barriers_per_block", format("%.0f", barriers)}});
        row.insert(row.end(), {{"flop_per_byte", format("%.4f", intensity)},
                               {"predicted_for", gpu_.name},
                               {"predicted_gflops", format("%.1f", predicted)}});
        return row;
    }

    static void print_lines(const emulator::Counts& counts) {
        for (const emulator::Line& line : counts.lines)
            std::printf("    %-36s %-6s %-5s %2d bytes a lane %12.0f requests %12.0f %s, %.0f at best\n", line.where.c_str(),
                        line.global ? "global" : "shared", line.store ? "store" : "load", line.width, double(line.requests),
                        double(line.sectors_or_wavefronts), line.global ? "sectors" : "wavefronts", double(line.ideal));
    }

    static double ratio(uint64_t a, uint64_t b) { return b ? double(a) / double(b) : 0.0; }

    Options options_;
    Gpu gpu_;
};
