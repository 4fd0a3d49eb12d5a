// The CPU build: verifies a stage in three thread orders and counts what it moves. It times nothing.
#pragma once

#include "common/large_indices.h"
#include "common/options.h"
#include "emulator/emulator.h"

class Machine {
public:
    static constexpr bool kEmulated = true;
    static constexpr int kDefaultSize = 256;

    Machine(const Options& options, const Arithmetic& arithmetic)
        : options_(options),
          gpu_(options.gpu ? *options.gpu : find_gpu(kGpus[0].full_name).value_or(kGpus[0])) {
        select_device(options.device);
        if (options.lines && !emulator::tracing())
            throw Failure(
                kBadCommandLine,
                "--lines: only the traced CPU builds (their names end in _cpu_trace) count by lines");
        std::printf("CPU emulator: verifies and counts, times nothing. ");
        print_gpu(gpu_, arithmetic);
    }

    // Verifies `stage` on one shape and returns what it moved. Throws Failure.
    template <class In, class Out>
    Row run(const StageOf<In, Out>& stage, Shape s) {
        Operands<In, Out> x(s);
        using emulator::Order;
        for (const auto& [name, order] : {std::pair<std::string, Order>{"forward", Order::forward},
                                          {"reverse", Order::reverse},
                                          {"random", Order::random}}) {
            if (options_.order != "all" && options_.order != name) continue;
            progress(std::string(stage.name) + " " + to_string(s) + ", threads in " + name +
                     " order");
            emulator::set_order(order, options_.seed);
            emulator::reset_counts();
            try {
                verify_exact(stage, x, options_.seed);
                check_traffic(stage, s);
            } catch (const Failure& failure) {
                const auto& problems = emulator::counts().problems;
                throw Failure(failure.code, "threads in " + name + " order: " + failure.what() +
                                                (problems.empty() ? "" : " (" + problems[0] + ")"));
            }
        }
        counts_ = emulator::counts();  // of one launch, before the next
        const double error = verify_accuracy(stage, x, options_.seed);

        Row row = verified_cells(error);
        if (emulator::tracing()) {
            const emulator::Counts& c = counts_;
            const double conflicts = ratio(c.shared_load_wavefronts + c.shared_store_wavefronts,
                                           c.shared_load_ideal + c.shared_store_ideal);
            row.push_back(
                {"loaded bytes", "global_load_bytes", std::to_string(c.global_load_bytes)});
            row.push_back({"sectors/request", "sectors_per_request",
                           format("%.2f", ratio(c.global_load_sectors, c.global_load_requests))});
            row.push_back({"conflict factor", "bank_conflict_factor",
                           conflicts > 0 ? format("%.2f", conflicts) : "-"});
            row.push_back({"barriers/block", "barriers_per_block",
                           format("%.0f", ratio(c.barriers, c.blocks))});
            const double flop = 2.0 * s.M * s.N * s.K;
            row.push_back(
                {"flop/byte counted", "counted_flop_per_byte",
                 intensity_text(flop / double(c.global_load_bytes + c.global_store_bytes))});
            row.push_back(
                {"at shared", "counted_shared_flop_per_byte",
                 intensity_text(c.shared_load_bytes ? flop / double(c.shared_load_bytes) : 0)});
            add_counts(row, c);
        }
        add_prediction(row, intensity_of(stage, s), stage.arithmetic, gpu_, 0);
        row.push_back({"", "predicted_for", gpu_.full_name});
        return row;
    }

    // True if that was asked for instead of a shape.
    template <class In, class Out>
    bool verified_large_indices(const StageOf<In, Out>& stage) const {
        if (!options_.large_indices) return false;
        if (!options_.csv.empty())
            throw Failure(kBadCommandLine, "--csv: there are no rows with --large-indices");
        verify_large_indices(stage);
        return true;
    }

    // After a row: the traffic of every source line, if asked for.
    void print_details() const {
        if (!options_.lines) return;
        for (const emulator::Line& line : counts_.lines)
            std::printf(
                "    %-36s %-6s %-5s %2d bytes a lane %12.0f requests %12.0f %s, %.0f at best\n",
                line.where.c_str(), line.global ? "global" : "shared",
                line.store ? "store" : "load", line.width, double(line.requests),
                double(line.sectors_or_wavefronts), line.global ? "sectors" : "wavefronts",
                double(line.ideal));
    }

private:
    // Nothing may race, and the traffic must be what the chapter's formula says.
    template <class In, class Out>
    static void check_traffic(const StageOf<In, Out>& stage, Shape s) {
        const emulator::Counts& c = emulator::counts();
        if (!c.problems.empty()) throw Failure(kWrongResult, "the result is right, but by luck");
        if (!emulator::tracing()) return;
        const double loaded = sizeof(In) * stage.loaded_elements(s.M, s.N, s.K),
                     stored = sizeof(Out) * double(s.M) * s.N;
        const double shared =
            stage.shared_loaded_bytes ? stage.shared_loaded_bytes(s.M, s.N, s.K) : 0;
        if (double(c.global_load_bytes) != loaded)
            throw Failure(
                kWrongResult,
                format("%.0f bytes were loaded from global memory, the chapter's formula says %.0f",
                       double(c.global_load_bytes), loaded));
        if (double(c.shared_load_bytes) != shared)
            throw Failure(
                kWrongResult,
                format("%.0f bytes were loaded from shared memory, the chapter's formula says %.0f",
                       double(c.shared_load_bytes), shared));
        if (double(c.global_store_bytes) != stored)
            throw Failure(kWrongResult,
                          format("%.0f bytes were stored to global memory, C has %.0f",
                                 double(c.global_store_bytes), stored));
    }

    // What ncu has counters for, too: in the CSV only. See emulator/README.md.
    static void add_counts(Row& row, const emulator::Counts& c) {
        for (const auto& [column, count] :
             {std::pair("global_load_requests", c.global_load_requests),
              {"global_load_sectors", c.global_load_sectors},
              {"global_store_sectors", c.global_store_sectors},
              {"shared_load_wavefronts", c.shared_load_wavefronts},
              {"shared_store_wavefronts", c.shared_store_wavefronts}})
            row.push_back({"", column, std::to_string(count)});
    }

    static double ratio(uint64_t a, uint64_t b) { return b ? double(a) / double(b) : 0.0; }

    Options options_;
    Gpu gpu_;
    emulator::Counts counts_;
};
