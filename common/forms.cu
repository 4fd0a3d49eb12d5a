// tools/ablation.py builds several forms of a stage into one program, each without another part. On
// a GPU they are verified one by one and timed in turns. On the emulator each one's main() runs,
// one after the other.
#ifndef CUDA_EMULATOR
#include "common/gpu.h"  // defined in harness.cu
#undef HARNESS_COMPILED_APART  // run_stage() is defined here
#endif
#include <cuda_fp16.h>

#include <cstring>
#include <vector>

#include "common/harness.h"

using Main = int (*)(int, char**);

static std::vector<Main>& mains() {
    static std::vector<Main> all;
    return all;
}

// Called by each form before main().
bool add_form(Main main) {
    mains().push_back(main);
    return true;
}

#ifdef CUDA_EMULATOR

int main(int argc, char** argv) {
    int code = 0;
    for (const Main form : mains()) code = code ? code : form(argc, argv);
    return code;
}

#else

template <class In>
std::vector<StageOf<In, float>> forms;

template <class In>
static int collect(StageOf<In, float> stage, const char* source) {
    stage.name = strdup(stage_name(source).c_str());
    forms<In>.push_back(stage);
    return 0;
}

// These replace run_stage(): each form's main() then registers its stage instead of running it.
template <>
int run_stage(StageOf<float, float> stage, int, char**, const char* source) {
    return collect(stage, source);
}
template <>
int run_stage(StageOf<half, float> stage, int, char**, const char* source) {
    return collect(stage, source);
}

int main(int argc, char** argv) {
    for (const Main form : mains()) form(argc, argv);
    return forms<half>.empty() ? run_stages("forms", forms<float>, argc, argv)
                               : run_stages("forms", forms<half>, argc, argv);
}

#endif  // CUDA_EMULATOR
