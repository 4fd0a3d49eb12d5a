// The machine that a stage runs on, a GPU or the emulator: what it adds to verification, and what
// it measures. Implemented twice: machine_gpu.cu times, machine_emulator.cpp counts.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "common/facts.h"
#include "common/gpu_timer.h"
#include "common/options.h"
#include "common/roofline.h"
#include "common/table.h"
#include "common/verify.h"

// A stage's product of one set of operands, whatever their types.
struct Product {
    std::string stage;
    const Facts& facts;
    Shape shape;
    int in_bytes, out_bytes;  // of an element of A and B, of C
    bool bf16;  // A and B are of bfloat16
    void *A, *B, *C;  // on the device

    std::string name() const { return stage + " " + to_string(shape); }
    double flop() const { return 2.0 * shape.M * shape.N * shape.K; }
    Traffic traffic() const {
        return stated_traffic(facts, shape.M, shape.N, shape.K, in_bytes, out_bytes);
    }
};

class Machine {
public:
    static const int kDefaultSize;  // of the matrices
    // Verified before those, which let no guard act.
    static const std::vector<Shape> kBeforeDefault;
    // Also then, and with --all-configs at `all`: the shapes at which each configuration that a
    // launcher may choose is verified, where it takes them.
    static std::vector<Shape> shapes_for(const ConfigFacts& config, bool all);
    static OptionTable options(Options& options);  // those that it alone has

    // Takes the device into use, and prints what it is and for which GPU it predicts. Throws as
    // select_device() does.
    Machine(const Options& options, const Facts& facts);
    Columns columns() const;  // of the table

    // How many elements C takes on each side, in which a write is noticed. 0 where the machine
    // itself names the line that writes outside C.
    size_t guard() const;
    // The launches between these two are counted, where the machine counts.
    void begin_counting(const Product& product);
    void end_counting();
    // Appends times or counts to the row, the prediction, and where that was. launch: queues the
    // product.
    void measure(const Product& product, const Launch& launch, Row& row);
    // Prints what belongs to the row above.
    void after_row();
    // After the last shape. Throws Failure(kWrongResult) for a kernel that none of them has
    // launched.
    void check_launched(const Facts& facts) const;

private:
    const Options options_;
    GpuTimer timer_;
    const Gpu gpu_;  // to predict for
    size_t allocated_ = 0;  // the emulator's memory after one of the launches of a shape
};
