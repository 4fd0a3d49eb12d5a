// Instructions that compute in registers.
#pragma once

#include "emulator/ptx/ptx_thread.h"

namespace emulator::ptx_arithmetic {

using Run = void(PtxThread& thread, const PtxInstruction& instruction);
Run add, sub, mul, mad, fma, div, rem, min, max, abs, neg, sad;
Run and_, or_, xor_, not_, shl, shr, shf, lop3, bfe, bfi, brev, clz, popc, prmt;
Run setp, selp, slct, cvt, mov;
Run rcp, sqrt, rsqrt, ex2, lg2, sin, cos, tanh, dp4a, dp2a;

}  // namespace emulator::ptx_arithmetic
