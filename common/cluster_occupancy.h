// How many clusters a GPU runs at the same time. All blocks of a cluster run in one GPC, so that
// clusters of four reach only 120 of an H200's 132 SMs.
#pragma once

#include <algorithm>

#include "common/stage.h"

__global__ void fill_sm() {}

// The number of clusters of `blocks` blocks, 8 at most, that run at the same time if every block
// fills an SM. At least 1. The result is cached, because the driver takes microseconds to compute
// it.
inline int clusters_at_once(int blocks) {
    static int sms = 0, cached[9];  // the results for a GPU of that many SMs
    if (sms != sm_count()) {
        sms = sm_count();
        std::fill_n(cached, 9, 0);
    }
    if (cached[blocks]) return cached[blocks];
    constexpr int kSharedBytes = 200 << 10;  // more than half of an SM's shared memory
    cudaLaunchAttribute size = {};
    size.id = cudaLaunchAttributeClusterDimension;
    size.val.clusterDim.x = blocks;
    size.val.clusterDim.y = 1;
    size.val.clusterDim.z = 1;
    cudaLaunchConfig_t launch = {};
    launch.gridDim = dim3(blocks);
    launch.blockDim = dim3(32);
    launch.dynamicSmemBytes = kSharedBytes;
    launch.attrs = &size;
    launch.numAttrs = 1;
    cudaFuncSetAttribute(fill_sm, cudaFuncAttributeMaxDynamicSharedMemorySize, kSharedBytes);
    int most = 0;
    cudaOccupancyMaxActiveClusters(&most, fill_sm, &launch);
    return cached[blocks] = std::max(1, most);
}
