// Which build of a program this is: for a GPU or for the emulator.
#pragma once

#ifdef CUDA_EMULATOR
constexpr bool kEmulated = true;
#else
constexpr bool kEmulated = false;
#endif
constexpr const char* kBuild = kEmulated ? "emulator" : "gpu";  // see Program
