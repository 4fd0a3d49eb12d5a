// Between mbarriers.cpp and tensor_copies.cpp: bulk tensor copies under way.
#pragma once

#include "emulator/scheduler.h"
#include "emulator/tensor_maps.h"

namespace emulator {

struct TensorLoad {
    TensorMap map;
    char* to;
    int x, y;
    Mbarrier* barrier;
    uint32_t phase;  // of the barrier, when it was asked for
    unsigned thread;
    Call site;
    const void* pc;
    AsyncOrder order;
};

}  // namespace emulator
