// Why a product is wrong. Each hypothesis predicts what C holds if it is true, and is said only if C
// does hold that at every wrong element: with random operands chance does not.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "common/verify.h"

// A product as a kernel computed it, in floats, which hold every half exactly.
struct Computed {
    Shape shape;
    std::vector<float> A, B, C;
    std::vector<bool> written;  // which elements of C

    template <class In, class Out>
    Computed(Shape s, const std::vector<In>& A, const std::vector<In>& B, const Out* C_)
        : shape(s), A(A.begin(), A.end()), B(B.begin(), B.end()), C(C_, C_ + size_t(s.M) * s.N) {
        const Out never = unwritten<Out>();
        for (size_t i = 0; i < C.size(); ++i)
            written.push_back(std::memcmp(&C_[i], &never, sizeof never) != 0);
    }
};

// The source lines that read the matrix 'A' or 'B', or write 'C'; "" where they are not known.
using LinesOf = std::function<std::string(char matrix)>;
// " (A: mine.cu:7, B: mine.cu:8)", or "".
std::string places(const std::string& matrices, const LinesOf& lines_of);

// The cause of a product of integers that isn't exact, in one sentence; "" if no hypothesis explains
// it.
std::string cause_of(const Computed& computed, const LinesOf& lines_of);
// The cause of a product of reals whose error exceeds the bound of its arithmetic.
std::string cause_of_error(const Computed& computed, const Arithmetic& arithmetic);
