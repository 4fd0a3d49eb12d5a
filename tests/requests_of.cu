// Prints the emulator's counts for requests in the input, one a line: "shared", "store" (to shared
// memory) or "global", the bytes a lane, 32 addresses, or "null" for a lane that is not active in a
// request to shared memory. The output is the wavefronts and the fewest
// possible, or for global memory the sectors. Run by test_toys.py.
#include <cuda_runtime.h>

#include <iostream>
#include <string>

#include "emulator/emulator.h"

struct Offsets {
    uint64_t of_lane[32];
};

template <class T>
__global__ void load(const char* from, T* to, Offsets offsets) {
    to[threadIdx.x] = *(const T*)(from + offsets.of_lane[threadIdx.x]);
}

template <class T>
uint64_t sectors(const Offsets& offsets) {
    constexpr size_t kBytes = 1 << 16;
    char *from, *to;
    cudaMalloc(&from, kBytes);
    cudaMalloc(&to, 32 * sizeof(T));
    cudaMemset(from, 0, kBytes);
    emulator::reset_counts();
    load<<<1, 32>>>(from, (T*)to, offsets);
    cudaFree(from);
    cudaFree(to);
    return emulator::counts().global_load_sectors;
}

int main() {
    std::string kind;
    for (int width; std::cin >> kind >> width;) {
        Offsets offsets;
        uint32_t active = 0;
        for (int lane = 0; lane < 32; ++lane) {
            std::string address;
            std::cin >> address;
            if (address == "null") continue;
            offsets.of_lane[lane] = std::stoull(address);
            active |= 1u << lane;
        }
        int ideal = 0;
        if (kind == "global") {
            std::cout << (width == 4   ? sectors<float>(offsets)
                          : width == 8 ? sectors<float2>(offsets)
                                       : sectors<float4>(offsets));
        } else {
            std::cout << emulator::shared_wavefronts(offsets.of_lane, active, width,
                                                     kind == "store", &ideal)
                      << ' ' << ideal;
        }
        std::cout << '\n';
    }
}
