// Which kernels the program has, and which of them it has launched.

#include "emulator/api/kernels.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <set>

#include "emulator/emulator.h"
#include "emulator/engine/run.h"
#include "emulator/trace/lines.h"
#include "emulator/trace/symbols.h"

namespace emulator {
namespace {

// Never destroyed, and created before any file's own variables.
std::set<std::string>& names() {
    static auto& names = *new std::set<std::string>;
    return names;
}
std::map<uintptr_t, uint64_t> launches;  // by the kernel's address

// ns::matmul<4>: is matmul declared with __global__?
bool is_kernel(const std::string& name) {
    const std::string whole = name.substr(0, name.find('<'));
    return names().count(whole.substr(whole.rfind(':') + 1)) > 0;
}

}  // namespace

bool name_kernels(std::initializer_list<const char*> of_a_file) {
    names().insert(of_a_file.begin(), of_a_file.end());
    return true;
}

std::vector<Launched> kernels() {
    std::vector<Launched> all;
    for (const Symbol& s : symbols()) {
        // Leaves out copies of functions that the compiler made, and lambdas in a kernel.
        if (!s.function || std::strchr(s.mangled, '.') || !std::strncmp(s.mangled, "_ZZ", 3))
            continue;
        const std::string name = short_name(s);
        if (!is_kernel(name)) continue;
        const auto found = launches.find(s.begin);
        all.push_back({name, found == launches.end() ? 0 : found->second});
    }
    return all;
}

namespace kernels_launched {

void note(const Launch& launch) {
    static const char* const file = std::getenv("EMULATOR_LAUNCHES");
    if (!file) return;
    const Symbol* const kernel = find_symbol(uintptr_t(launch.kernel));
    const std::string name = kernel ? short_name(*kernel) : launch.name;
    static auto& most = *new std::map<std::string, unsigned>;  // threads of a block so far
    const unsigned threads = launch.block.x * launch.block.y * launch.block.z;
    unsigned& before = most[kernel ? kernel->mangled : name];
    if (threads <= before) return;
    before = threads;
    if (FILE* const out = std::fopen(file, "a")) {
        std::fprintf(out, "%s,%u,%s:%d,%s\n", kernel ? kernel->mangled : "", threads,
                     short_path(launch.file).c_str(), launch.line, name.c_str());
        std::fclose(out);
    }
}

void end_launch() {
    if (!run.error && !run.restart) ++launches[reinterpret_cast<uintptr_t>(run.kernel)];
}

}  // namespace kernels_launched
}  // namespace emulator
