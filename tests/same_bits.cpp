// Tests that a stage computes the same bits in each order of blocks and threads, on real numbers,
// with each of its configurations: the products of every element of C are added up in an order that
// does not depend on which block runs first.
//
// The test program is a stage's own object, linked with this one: this run_stage() replaces the
// harness's, as in large_indices.cpp. The test passes --same-bits, which the ordinary stage rejects.
#include <cstdio>
#include <cstring>
#include <vector>

#include "common/checked_launch.h"
#include "common/device.h"
#include "common/device_operands.h"
#include "common/errors.h"
#include "common/facts.h"
#include "common/options.h"
#include "common/stage.h"
#include "emulator/emulator.h"

// The product with the threads in each order, twice at random, and once more as at first.
template <class In, class Out>
static void verify_bits(Launcher<In, Out> launch, const Facts& facts, Shape s) {
    using emulator::Order;
    Operands<In, Out> x(s);
    x.set_reals(1, facts.arithmetic);
    std::vector<Out> first;
    const std::pair<Order, const char*> orders[] = {{Order::forward, "forward order"},
                                                    {Order::reverse, "reverse order"},
                                                    {Order::random, "random order"},
                                                    {Order::random, "another random order"},
                                                    {Order::forward, "forward order again"}};
    for (unsigned i = 0; i < std::size(orders); ++i) {
        emulator::set_order(orders[i].first, i);
        with_context(orders[i].second, [&] {
            x.clear();
            launch(s.M, s.N, s.K, x.A_device.data(), x.B_device.data(), x.C_device());
            finish_launch();
            x.fetch();
            const size_t elements = size_t(s.M) * s.N;
            if (first.empty()) first.assign(x.C(), x.C() + elements);
            for (size_t at = 0; at < elements; ++at)
                if (std::memcmp(&first[at], &x.C()[at], sizeof(Out)))
                    throw Failure(kWrongResult,
                                  format("C[%zu][%zu] is %.9g, and was %.9g in forward order",
                                         at / s.N, at % s.N, double(x.C()[at]), double(first[at])));
        });
    }
}

template <class In, class Out>
int run_stage(Launcher<In, Out> launch, const Facts& facts, int argc, char** argv, const char*) {
    bool same_bits = false;
    const OptionTable options = {{"--same-bits", "",
                                  "must be given: a stage's own program does not take it",
                                  flag(same_bits)}};
    const Program program = {"same_bits", "verifies that a stage's bits are always the same",
                             options,     "",
                             "stage",     "emulator"};
    return run_program(program, argc, argv, [&] {
        if (!same_bits) throw Failure(kBadCommandLine, "needs --same-bits");
        select_device(0);
        for (const ConfigFacts& config : facts.configs) {
            only_config = config.name;
            // One tile, whose k-tiles all blocks or clusters may share, and several. The rows of B are
            // not multiples of 16 bytes, because a configuration may take only such.
            const auto verify = [&](Shape s) {
                with_context(config.name + " " + to_string(s),
                             [&] { verify_bits(launch, facts, s); });
            };
            verify({config.m, config.n - 4, 640});
            if (!config.few_tiles) verify({config.m + 5, 2 * config.n - 4, 500});
        }
        std::printf("the same bits in each order of threads\n");
    });
}

template int run_stage(Launcher<float, float>, const Facts&, int, char**, const char*);
template int run_stage(Launcher<half, float>, const Facts&, int, char**, const char*);
template int run_stage(Launcher<half, half>, const Facts&, int, char**, const char*);
