#pragma once
#include "common/verify.h"
template <class X>
void verify_exact(X& x, const Arithmetic& arithmetic, uint32_t seed,
                  const std::function<void()>& launch) {
    verify_stage(x, arithmetic, seed, launch);
}
