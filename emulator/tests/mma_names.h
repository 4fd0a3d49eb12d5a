// Short names that the tests of mma.h share.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <mma.h>

#include "device.h"

using namespace nvcuda::wmma;
using experimental::precision::b1;
using experimental::precision::s4;
using experimental::precision::u4;
using precision::tf32;

template <class T, int m = 16, int n = 16, int k = 16>
using A = fragment<matrix_a, m, n, k, T, row_major>;
template <class T, int m = 16, int n = 16, int k = 16>
using B = fragment<matrix_b, m, n, k, T, col_major>;
template <class T, int m = 16, int n = 16, int k = 16>
using ACol = fragment<matrix_a, m, n, k, T, col_major>;
template <class T, int m = 16, int n = 16, int k = 16>
using BRow = fragment<matrix_b, m, n, k, T, row_major>;
template <class T, int m = 16, int n = 16, int k = 16>
using C = fragment<accumulator, m, n, k, T>;
