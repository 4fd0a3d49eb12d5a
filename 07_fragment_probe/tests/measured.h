// What an H100 80GB HBM3 has computed (driver 580.159.04, CUDA 13.0): a digest of 5120 elements of D
// for each instruction of tensor_core_check.cu and each of the first modes of random_operands.h.
#pragma once

#include <cstdint>

#include "07_fragment_probe/tests/random_operands.h"

constexpr int kMeasuredRows = 640;  // of D, of 8 columns each
// clang-format off
const uint32_t kMeasured[][random_operands::kMeasuredModes] = {
    {0xeac95134, 0x01ac1ed2, 0x5b8e18b9, 0xf3f3b57b, 
     0xcef1c5f0, 0x609f2532, 0xd1c8f555, 0x5176c3be},  // mma m16n8k16 f16
    {0xe4124553, 0x766cb2ec, 0x7dc07427, 0x162e5643, 
     0xd19a1d4e, 0xf2375c0a, 0x975cb4ee, 0x78e94959},  // mma m16n8k8 f16
    {0x350f7895, 0xa135a0d4, 0x80675e7b, 0x551ecfe9, 
     0x486fd509, 0xbbc7cf94, 0xf62fa505, 0x0b81eabd},  // mma m16n8k16 bf16
    {0xf06a16e4, 0x3187d50c, 0xce2a042e, 0x9fc08f6c, 
     0xe942140e, 0x557dda2d, 0x0a8d9752, 0x707f337c},  // mma m16n8k8 bf16
    {0x9e61628b, 0x00c03a29, 0xe3446f2c, 0xdb7bc42d, 
     0x5d92b8ab, 0x0a9156a1, 0x1f42edc3, 0xdf9f42ae},  // mma m16n8k8 tf32
    {0xcbcc9238, 0xd3d8526a, 0x7f8d535f, 0xcafcb6ff, 
     0xc35ece1e, 0x5f8c7a22, 0xd0260deb, 0x30c40006},  // mma m16n8k4 tf32
    {0x0a41bcdc, 0x71a727ce, 0x098b5e34, 0x47de268a, 
     0xe02ae2b9, 0x367f3617, 0xc0134b3b, 0xd1ae4607},  // mma m16n8k32 e4m3
    {0xc3d2e1a7, 0xe10d43bb, 0x4f0f0243, 0x4e0ff6c8, 
     0x4492d34a, 0x5ff05fcf, 0x3b2e3525, 0xd1ff2575},  // mma m16n8k32 e5m2
    {0x6d329840, 0x36ce5f75, 0x10005444, 0x9c1cfe10, 
     0xe716ae39, 0xcd5208ee, 0xcb2275ea, 0x5931091b},  // mma m16n8k16 f16, f16 accumulator
    {0xaf13d829, 0x9d26546f, 0x9eeef238, 0x47c7f0cb, 
     0x41578c20, 0x9c6a757f, 0x9649c1d7, 0xb5332481},  // mma m16n8k8 f16, f16 accumulator
    {0xfe2ca383, 0x847c3d67, 0xbfae25a3, 0xf02ff7e0, 
     0x8c8ce5e5, 0x74481c8a, 0xd5ba244c, 0x18b22d9e},  // wgmma f16
    {0xc6ae99e7, 0x9cdaa10f, 0x3e9901d7, 0x6487d305, 
     0x80ea2906, 0x233783a6, 0xfb00fa0b, 0xb29f0bc9},  // wgmma f16, f16 accumulator
    {0x118ac3cf, 0x1066a1d1, 0x915a0a6b, 0xcda41b8e, 
     0xc3891ea9, 0x814f96e9, 0xcebdd7ae, 0x4a001609},  // wgmma bf16
    {0xf7927e7a, 0xdc2b21e9, 0xbdb425ae, 0x1eeb55cd, 
     0x66a434d6, 0xc56ac037, 0xd9c8a148, 0xc4f8bb62},  // wgmma tf32
    {0x85de3d24, 0xd194966e, 0x89db4afd, 0xade1b7fe, 
     0x417286cc, 0x5cba1e10, 0x1c27936e, 0xa3243caf},  // wgmma e4m3
    {0x7e92c426, 0xcfb91cd4, 0x0389d743, 0x28d62351, 
     0xb02132a6, 0xa0a6795b, 0x1d1b07fb, 0x9b173605},  // wgmma e5m2
    {0x38efc9fe, 0x64bc782c, 0x012fcd0a, 0xd2d3b11c, 
     0x6198f28e, 0xb44dbee1, 0x7fb6986f, 0x6a9ba49b},  // wgmma e4m3, f16 accumulator
    {0x3b8234d9, 0x79172467, 0xff269d14, 0xe7db54a1, 
     0xb90c7be5, 0x1307ab21, 0x04b1b965, 0x388feab8},  // wgmma e5m2, f16 accumulator
};

// Single elements of later modes. Sums of which all addends are -0, and sums of TF32 below the
// smallest normal number: rules that were assumed before had these wrong. Sums of bf16 and of halves
// that would differ with another smallest exponent, a larger or a smaller one.
const struct {
    unsigned instruction, product;
    int row, column;
    uint32_t bits;  // of D
} kMeasuredElements[] = {
    {0, 7711, 2, 7, 0}, {0, 11267, 6, 6, 0},  // mma m16n8k16 f16
    {1, 67, 1, 4, 0}, {1, 277, 4, 1, 0},  // mma m16n8k8 f16
    {2, 34493, 12, 3, 0}, {2, 42809, 9, 6, 0},  // mma m16n8k16 bf16
    {2, 27, 0, 4, 0x0001b7df}, {2, 27, 1, 6, 0x00012a44}, {2, 457, 9, 4, 0x00000071},
    {3, 67, 0, 1, 0}, {3, 151, 7, 6, 0},  // mma m16n8k8 bf16
    {4, 25, 11, 5, 0}, {4, 123, 3, 0, 0},  // mma m16n8k8 tf32
    {4, 125, 10, 4, 0x80012e80}, {4, 167, 9, 2, 0x8002714a},
    {4, 443, 8, 1, 0x000006a2}, {4, 527, 3, 4, 0x000032d2},
    {5, 11, 0, 7, 0}, {5, 11, 7, 1, 0},  // mma m16n8k4 tf32
    {5, 27, 2, 3, 0x800277f7}, {5, 55, 3, 6, 0x800032bb},
    {5, 569, 9, 2, 0x00000021}, {5, 821, 1, 3, 0x8000e359},
    {8, 47443, 6, 2, 0}, {8, 65881, 0, 0, 0},  // mma m16n8k16 f16, f16 accumulator
    {8, 13, 3, 0, 0x0001}, {8, 13, 0, 0, 0},
    {9, 109, 3, 1, 0}, {9, 109, 4, 2, 0},  // mma m16n8k8 f16, f16 accumulator
    {10, 4561, 32, 6, 0}, {10, 8159, 58, 2, 0},  // wgmma f16
    {11, 2349, 3, 1, 0}, {11, 14823, 15, 7, 0},  // wgmma f16, f16 accumulator
    {11, 13, 2, 1, 0x8001}, {11, 13, 2, 0, 0},
    {12, 3707, 37, 1, 0}, {12, 4743, 47, 4, 0},  // wgmma bf16
    {12, 13, 6, 2, 0x0000df29}, {12, 13, 18, 1, 0x00007821},
    {13, 67, 54, 2, 0}, {13, 95, 39, 1, 0},  // wgmma tf32
    {13, 13, 10, 1, 0x800099e9}, {13, 13, 46, 5, 0x00023278},
    {13, 23, 45, 4, 0x0000a2c9}, {13, 51, 45, 7, 0x8000810f},
};
// clang-format on
