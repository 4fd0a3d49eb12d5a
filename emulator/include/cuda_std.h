// <cuda/std/...>: the host's standard library, which works here as it is. <cuda/cmath>: two of its
// functions.
#pragma once

#include <array>
#include <atomic>
#include <cassert>
#include <chrono>
#include <cmath>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <ratio>
#include <tuple>
#include <type_traits>
#include <utility>

#include "cuda_runtime.h"  // from this folder, wherever this file is included

namespace cuda::std {
using namespace ::std;
}
namespace cuda {
template <class A, class B>
constexpr ::std::common_type_t<A, B> ceil_div(A a, B b) {
    return a / b + (a % b != 0);
}
template <class A, class B>
constexpr ::std::common_type_t<A, B> round_up(A a, B b) {
    return ceil_div(a, b) * b;
}
}  // namespace cuda
