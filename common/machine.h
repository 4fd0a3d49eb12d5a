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
    // Shapes that are verified before matrices of the default size, which have only whole tiles and
    // so never reach the code for edges.
    static const std::vector<Shape> kBeforeDefault;
    // The shapes at which --all-configs verifies a configuration, if it takes them.
    static std::vector<Shape> shapes_for(const ConfigFacts& config);
    static OptionTable options(Options& options);  // the options that only this machine has
    // What multiply_in_fp32() is called in a column's name, and in its title.
    static const std::string kFp32Name, kFp32Title;

    // Selects the device, and prints what it is and for which GPU it predicts. Throws as
    // select_device() does.
    Machine(const Options& options, const Facts& facts);
    Columns columns() const;  // of the table

    // How many guard elements lie on each side of C, so that a write outside C is noticed. 0 where
    // the machine itself names the line that writes there.
    size_t guard() const;
    // The emulator counts the accesses of the launches between these two calls; a GPU counts
    // nothing.
    void begin_counting(const Product& product);
    void end_counting();
    // The source lines that read the matrix 'A' or 'B', or write 'C', in the last launch; "" where
    // they are not known.
    std::string lines_of(const Product& product, char matrix) const;
    // C = A * B for floats, with which --accuracy compares a stage: cuBLAS's, on the emulator sums in
    // order of k.
    void multiply_in_fp32(const Product& product);
    // Appends to the row: times or counts, the prediction, and the machine that measured. launch:
    // queues the product.
    void measure(const Product& product, const Launch& launch, Row& row);
    // Prints details of the row that was printed last, such as the traffic of each source line.
    void after_row();
    // Called after the last shape. With --all-configs throws Failure(kWrongResult) for a kernel
    // that no shape has launched.
    void check_launched(const Facts& facts) const;

private:
    const Options options_;
    GpuTimer timer_;
    const Gpu gpu_;  // the one whose speed is predicted
    size_t allocated_ = 0;  // bytes allocated on the emulator after the first launch of a shape
};
