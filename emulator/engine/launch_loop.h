// Runs launches, block by block and from barrier to barrier.
#pragma once

#include "emulator/engine/run.h"

namespace emulator {

struct Hooks;

void run_launch(const Launch& launch, void (*thread)(void*), void* argument, const Hooks& hooks);

}  // namespace emulator
