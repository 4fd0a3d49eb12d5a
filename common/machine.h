// The machine that a stage's program runs on: what it adds to verification, and what it measures.
// Two files implement it, and linking chooses: lab/gpu.cu for a GPU, which times, and
// lab/emulated/counted.cpp for the emulator, which counts.
#pragma once

#include <memory>

#include "common/device.h"
#include "common/options.h"

enum class Type { kFloat, kHalf, kBfloat16 };  // of an element
constexpr double bytes_of(Type type) { return type == Type::kFloat ? 4 : 2; }

struct Matrices {
    void *A, *B, *C;  // on the device
};

// A stage's product of one set of operands, whatever their types.
struct Product {
    std::string stage;
    Facts facts;
    Type in, out;  // of A and B, of C
    std::function<void(Shape, Matrices)> multiply;  // does not wait
    Shape shape = {};
    Matrices at = {};

    void launch() const { multiply(shape, at); }
};

// The bytes that its stage states, and flop per byte.
Traffic traffic_of(const Product& product);
Intensity intensity_of(Shape shape, const Traffic& traffic);

class Machine {
public:
    static const int kDefaultSize;  // of the matrices
    static OptionTable options(Options& options);  // those that it alone has

    // Takes the device into use, and prints what it is and for which GPU it predicts. Throws as
    // select_device() does.
    explicit Machine(const Options& options, const Arithmetic& arithmetic);
    static Columns columns(const Options& options);
    // Shapes to verify before the default one, which lets no guard act; none where one is asked for.
    std::vector<Shape> shapes_before() const;

    // Begins to verify: the launches that follow are the product's, up to measure(). Throws
    // Failure(kNoGpu) if a block takes more shared memory than this GPU has.
    void begin(const Product& product);
    // Ends a launch whose result was right. Throws Failure(kWrongResult) for what a right result
    // hides: a race, other traffic than stated. Returns true if it is to be launched again, with
    // its threads in another order.
    bool another_order();
    // What to say of a failure in between: it may know the cause.
    std::string explain(const Failure& failure) const;

    // Appends times or counts to the row, the prediction, and where that was.
    void measure(const Product& product, Row& row);

    // After the last shape. Throws Failure(kWrongResult) for what none of them has tried.
    void end() const;

    // Verifies at both ends of matrices with more than 2^32 elements.
    void verify_large_indices(const Product& product);

private:
    struct Parts;
    std::shared_ptr<Parts> parts_;
};
