// Indices that an array does not have: in both builds.
#include "device.h"

namespace {

class Indices : public Base {};

struct Tiles {
    float a[4][16];
};

__global__ void sum_local(int* out, int last) {
    int own[4] = {1, 2, 3, 4};
    for (int i = 0; i < last; ++i) own[i] += i;  // @own
    out[threadIdx.x] = own[0] + own[1] + own[2] + own[3];
}
__global__ void right_neighbours(float* out, int distance) {
    __shared__ Tiles tiles;
    tiles.a[threadIdx.y][threadIdx.x] = 1;
    __syncthreads();
    if (threadIdx.y == 0) out[threadIdx.x] = tiles.a[0][threadIdx.x + distance];  // @inner
}
__device__ float add_first(const float (&values)[2], int count) {
    float sum = 0;
    for (int i = 0; i < count; ++i) sum += values[i];  // @parameter
    return sum;
}
__global__ void sum_first(float* out, int count) {
    const float pair[4] = {1, 2, 3, 4};
    out[threadIdx.x] = add_first(reinterpret_cast<const float(&)[2]>(pair), count);
}
// A pointer has no length, and one past the end of an array is an address like any other.
__global__ void by_pointer(float* out) {
    __shared__ Tiles tiles;
    float* const flat = &tiles.a[0][0];
    for (float* p = flat; p != &tiles.a[4][0]; ++p) *p = 1;
    out[threadIdx.x] = flat[63];
}

TEST_F(Indices, OneOfALocalArray) {
    sum_local<<<1, 4>>>(ints.data, 4);
    expect_silence();
    sum_local<<<1, 4>>>(ints.data, 5);
    expect_failure({"out of bounds: @own: index 4 of 'int [4]' in own[i] (block 0, thread 0)"},
                   cudaErrorIllegalAddress);
}

TEST_F(Indices, AnInnerOneWithinTheArray) {
    right_neighbours<<<1, dim3(16, 4)>>>(floats.data, 0);
    expect_silence();
    right_neighbours<<<1, dim3(16, 4)>>>(floats.data, 1);
    expect_failure({"out of bounds: @inner: index 16 of 'float [16]' in "
                    "tiles.a[0][threadIdx.x + distance] (block 0, thread (15,0))"},
                   cudaErrorIllegalAddress);
    right_neighbours<<<1, dim3(16, 4)>>>(floats.data, -1);
    expect_failure({"out of bounds: @inner: index -1 of 'float [16]' in "
                    "tiles.a[0][threadIdx.x + distance] (block 0, thread (0,0))"},
                   cudaErrorIllegalAddress);
}

TEST_F(Indices, OneOfAParameter) {
    sum_first<<<1, 1>>>(floats.data, 2);
    expect_silence();
    sum_first<<<1, 1>>>(floats.data, 3);
    expect_failure({"out of bounds: @parameter: index 2 of 'float [2]' in values[i] "
                    "(block 0, thread 0)"},
                   cudaErrorIllegalAddress);
}

TEST_F(Indices, APointerHasNone) {
    by_pointer<<<1, 1>>>(floats.data);
    expect_silence();
}

}  // namespace
