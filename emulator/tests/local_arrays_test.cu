// An access past the end of a thread's local array, which only the plain build notices.
#include "device.h"

namespace {

class LocalArrays : public Base {};

__global__ void sum_local(int* out, int last) {
    int own[4] = {1, 2, 3, 4};
    for (int i = 0; i < last; ++i) own[i] += i;  // @own
    out[threadIdx.x] = own[0] + own[1] + own[2] + own[3];
}

TEST_F(LocalArrays, AnAccessPastTheEndEndsTheLaunch) {
    sum_local<<<1, 4>>>(ints.data, 4);
    expect_silence();
    sum_local<<<1, 4>>>(ints.data, 5);
    expect_failure({"out of bounds: @own goes past the end of a local array (block 0, thread 0)"},
                   cudaErrorIllegalAddress);
}

}  // namespace
