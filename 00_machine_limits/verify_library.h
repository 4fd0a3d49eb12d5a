// The check that a library's product passes before it is timed.
#pragma once

#include <cstring>
#include <functional>

#include "common/errors.h"
#include "common/facts.h"
#include "common/operands.h"
#include "common/options.h"
#include "common/verify.h"

// A wrong leading dimension shows only where the edges differ.
constexpr Shape kRectangular = {37, 129, 65};
// The exact check of larger products on the host would take longer than all else.
constexpr int kVerifiedUpTo = 1024;

// The option --sizes, for square matrices.
inline Option square_sizes(std::vector<Shape>& sizes, const std::string& usual) {
    const auto set = [&sizes](const std::string& value) {
        shape_list(sizes)(value);
        for (const Shape& s : sizes)
            if (s.M != s.N || s.N != s.K)
                throw Failure(kBadCommandLine, "takes S or FIRST:LAST:STEP, of square matrices");
    };
    return {"--sizes", "F:L:STEP", "each size from F to L (default " + usual + ")", set};
}

// The shapes at which a library is checked that is timed at these sizes.
inline std::vector<Shape> verified_shapes(const std::vector<Shape>& sizes) {
    std::vector<Shape> shapes = {kRectangular};
    for (const Shape& s : sizes)
        if (s.M <= kVerifiedUpTo) shapes.push_back(s);
    return shapes;
}

// " 37x129x65 256x256x256"
inline std::string listed(const std::vector<Shape>& shapes) {
    std::string all;
    for (const Shape& s : shapes) all += format(" %dx%dx%d", s.M, s.N, s.K);
    return all;
}

// `multiply` must give C = A * B: exactly on integers, for which FP16 and TF32 are wide enough, and
// on reals within the error bound of `arithmetic`, which tells FP32 from TF32. The reals have
// `bits` bits of fraction. C is NaN before. Throws Failure(kWrongResult).
template <class In, class Out, class Multiply>
void verify_library(const std::string& name, Shape s, uint32_t seed, int bits,
                    const Arithmetic& arithmetic, Multiply multiply) {
    const std::string what = name + ", " + to_string(s);
    progress("verifying " + what);
    const auto product = [&](const std::vector<float>& A, const std::vector<float>& B) {
        std::vector<Out> C(size_t(s.M) * s.N);
        std::memset(static_cast<void*>(C.data()), 0xff, C.size() * sizeof(Out));
        multiply(std::vector<In>(A.begin(), A.end()), std::vector<In>(B.begin(), B.end()), C);
        return std::vector<float>(C.begin(), C.end());
    };
    const size_t a_count = size_t(s.M) * s.K, b_count = size_t(s.K) * s.N;
    const int range = exact_range(s.K, kFp32.exact_limit);
    std::vector<float> A = random_integers(a_count, seed, range);
    std::vector<float> B = random_integers(b_count, seed + 1, range);
    with_context(what, [&] { check_exact(s, A, B, product(A, B).data()); });
    A = random_reals(a_count, seed);
    B = random_reals(b_count, seed + 1);
    for (std::vector<float>* matrix : {&A, &B})
        for (float& value : *matrix) value = std::ldexp(std::trunc(std::ldexp(value, bits)), -bits);
    with_context(what, [&] { check_accuracy(s, A, B, product(A, B).data(), arithmetic); });
}
