// Several forms of a stage in one program, which tools/ablation.py builds: each with another part
// left out. A GPU verifies them one by one and times them in turns. The emulator runs them one after
// the other, each as a program of its own would.
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

// In place of those that run a stage: its main() calls them.
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
