// The limits of a launch.

#include "emulator/api/limits.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <string>

#include "emulator/api/errors.h"
#include "emulator/engine/names.h"
#include "emulator/engine/run.h"
#include "emulator/engine/stacks.h"
#include "emulator/engine/written.h"
#include "emulator/trace/lines.h"
#include "emulator/trace/report.h"
#include "emulator/trace/symbols.h"

namespace emulator {

constexpr size_t kStaticShared = 48 * 1024, kShared = 227 * 1024;  // H100, H200
static std::map<const void*, size_t> allowed;  // dynamic shared memory, by cudaFuncSetAttribute
struct Refused {  // a call of cudaFuncSetAttribute for more than there is
    int bytes;
    std::string place;
};
static std::map<const void*, Refused> refused;

void forget_limits() {
    allowed.clear();
    refused.clear();
}

// A kernel's own __shared__ arrays: variables whose names are mangled as locals of the kernel.
static std::vector<const Symbol*> static_arrays(const void* kernel) {
    std::vector<const Symbol*> all;
    const Symbol* function = find_symbol(reinterpret_cast<uintptr_t>(kernel));
    if (!function || std::strncmp(function->mangled, "_Z", 2) != 0) return all;
    const std::string local = std::string("_ZZ") + (function->mangled + 2) + "E";
    for (const Symbol& s : symbols())
        if (!s.function && is_data(s.begin) &&
            std::strncmp(s.mangled, local.c_str(), local.size()) == 0)
            all.push_back(&s);
    return all;
}
size_t static_shared(const void* kernel) {
    size_t bytes = 0;
    for (const Symbol* s : static_arrays(kernel)) bytes += s->size;
    return bytes;
}

bool has_unnamed_shared(const void* kernel) {
    const auto all = static_arrays(kernel);
    return std::any_of(all.begin(), all.end(), [](const Symbol* s) {
        return !std::strstr(s->mangled, "emulator_shared_");
    });
}

static size_t allowed_dynamic_shared(const void* kernel) {
    size_t bytes = kStaticShared - std::min(kStaticShared, static_shared(kernel));
    for (const auto& [its_kernel, most] : allowed)
        if (!kernel || its_kernel == kernel) bytes = std::max(bytes, most);
    return bytes;
}

cudaError_t allow_dynamic_shared(const void* kernel, int bytes, const char* file, int line) {
    if (bytes < 0 || size_t(bytes) + static_shared(kernel) > kShared) {
        refused[kernel] = {bytes, short_place(file, line)};
        return set_last_error(cudaErrorInvalidValue);
    }
    refused.erase(kernel);
    allowed[kernel] = size_t(bytes);
    return cudaSuccess;
}

// Says what to do about a launch with more dynamic shared memory than its kernel may have.
static std::string shared_limit_advice(const Launch& launch) {
    const size_t most = kShared - static_shared(launch.kernel);
    if (launch.dynamic_shared_bytes <= most)
        return ", more after cudaFuncSetAttribute(kernel, "
               "cudaFuncAttributeMaxDynamicSharedMemorySize, bytes)";
    const std::string limit = ", and on sm_90 never more than " + std::to_string(most);
    const auto call = launch.kernel ? refused.find(launch.kernel) : refused.begin();
    return call == refused.end()
               ? limit
               : limit + ": the cudaFuncSetAttribute() at " + call->second.place + ", for " +
                     std::to_string(call->second.bytes) + " bytes, was refused (invalid argument)";
}

// How many blocks an H100 SXM, with 132 SMs, can have at once. Source: CUDA programming guide,
// "Compute capabilities": 2048 threads, 32 blocks and 228 KiB for each SM, of which a block takes
// 1 KiB more than it uses. Registers, which only nvcc knows, may leave room for fewer.
constexpr uint64_t kSMs = 132;
static uint64_t blocks_per_sm(uint64_t threads, size_t shared) {
    const uint64_t warps = (threads + 31) / 32;
    return std::min({64 / warps, uint64_t(32), uint64_t(228 * 1024 / (shared + 1024))});
}
int blocks_per_sm(const void* kernel, int threads, size_t dynamic_shared_bytes) {
    if (threads < 1 || threads > 1024) return 0;
    return int(blocks_per_sm(uint64_t(threads), static_shared(kernel) + dynamic_shared_bytes));
}

cudaFuncAttributes attributes_of(const void* kernel) {
    cudaFuncAttributes attributes = {};
    attributes.sharedSizeBytes = static_shared(kernel);
    attributes.maxDynamicSharedSizeBytes = int(allowed_dynamic_shared(kernel));
    attributes.maxThreadsPerBlock = 1024;
    attributes.ptxVersion = attributes.binaryVersion = 80;
    attributes.numRegs = 32;  // a placeholder: only nvcc knows
    return attributes;
}

bool launch_fits(const Launch& launch) {
    const auto refuse = [&](const std::string& what, cudaError_t error) {
        const std::string problem =
            "the launch at " + short_place(launch.file, launch.line) + " " + what;
        report_and_print(problem);
        written::note_failed_launch();
        set_last_error(error);
        return false;
    };
    const auto size = [](dim3 d) {
        return std::to_string(d.x) + " x " + std::to_string(d.y) + " x " + std::to_string(d.z);
    };
    const dim3 grid = launch.grid, block = launch.block;
    const uint64_t threads = count(block);
    if (grid.x == 0 || grid.y == 0 || grid.z == 0 || grid.x > 0x7fffffff || grid.y > 65535 ||
        grid.z > 65535)
        return refuse("asks for " + size(grid) +
                          " blocks; a grid has 1 x 1 x 1 up to 2147483647 x 65535 x 65535",
                      cudaErrorInvalidConfiguration);
    const uint64_t blocks = count(grid);
    if (threads == 0 || threads > kMaxBlockThreads || block.z > 64) {
        // Nobody means a block of less than a warp, or no block at all.
        const bool exchanged =
            threads > 0 && blocks >= 32 && blocks <= kMaxBlockThreads && grid.z <= 64;
        return refuse("asks for blocks of " + size(block) +
                          " threads; a block has 1 to 1024, at most 64 along z" +
                          (exchanged ? ": exchanged, " + size(block) + " blocks of " + size(grid) +
                                           " threads would fit (<<<blocks, threads>>>)"
                                     : ""),
                      cudaErrorInvalidConfiguration);
    }
    const auto arrays = [&](const std::string& before) {  // " (As 32768, Bs 32768)"
        std::string all;
        for (const Symbol* s : static_arrays(launch.kernel))
            all += (all.empty() ? before + " (" : ", ") + short_name(*s) + " " +
                   std::to_string(s->size);
        return all.empty() ? all : all + ")";
    };
    if (const size_t bytes = static_shared(launch.kernel); bytes > kStaticShared)
        return refuse("launches a kernel with " + std::to_string(bytes) +
                          " bytes of static shared memory" + arrays("") +
                          "; nvcc takes at most 49152, unless for sm_90a",
                      cudaErrorInvalidValue);
    if (const size_t bytes = allowed_dynamic_shared(launch.kernel);
        launch.dynamic_shared_bytes > bytes)
        return refuse("asks for " + std::to_string(launch.dynamic_shared_bytes) +
                          " bytes of dynamic shared memory; this kernel may have " +
                          std::to_string(bytes) + arrays(" beside its arrays") +
                          shared_limit_advice(launch),
                      cudaErrorInvalidValue);
    if (!launch.attributes.cooperative) return true;
    const size_t shared = static_shared(launch.kernel) + launch.dynamic_shared_bytes;
    const uint64_t most = kSMs * blocks_per_sm(threads, shared);
    if (blocks > most)
        return refuse("is cooperative, with " + std::to_string(blocks) + " blocks of " +
                          std::to_string(threads) + " threads and " + std::to_string(shared) +
                          " bytes of shared memory; an H100 SXM has room for " +
                          std::to_string(most) +
                          " at once (cudaOccupancyMaxActiveBlocksPerMultiprocessor() for each SM)",
                      cudaErrorCooperativeLaunchTooLarge);
    if (blocks * threads > kMostStacks)
        return refuse("is cooperative, with " + std::to_string(blocks * threads) +
                          " threads; the emulator runs at most " + std::to_string(kMostStacks) +
                          " at once",
                      cudaErrorCooperativeLaunchTooLarge);
    return true;
}

}  // namespace emulator
