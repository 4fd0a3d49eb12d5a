// Prints the emulator's counts for requests in the input, one a line: "shared", "store" (to shared
// memory) or "global", the bytes a lane, 32 addresses. The output is the wavefronts and the fewest
// possible, or for global memory the sectors. Run by test_toys.py.
#include <cuda_runtime.h>

#include <iostream>
#include <string>

#include "emulator/emulator.h"

struct Places {
    uint64_t of[32];
};

template <class T>
__global__ void load(const char* from, T* to, Places places) {
    to[threadIdx.x] = *(const T*)(from + places.of[threadIdx.x]);
}

template <class T>
uint64_t sectors(const Places& places) {
    constexpr size_t kBytes = 1 << 16;
    char *from, *to;
    cudaMalloc(&from, kBytes);
    cudaMalloc(&to, 32 * sizeof(T));
    cudaMemset(from, 0, kBytes);
    emulator::reset_counts();
    load<<<1, 32>>>(from, (T*)to, places);
    cudaFree(from);
    cudaFree(to);
    return emulator::counts().global_load_sectors;
}

int main() {
    std::string kind;
    for (int width; std::cin >> kind >> width;) {
        Places places;
        for (uint64_t& place : places.of) std::cin >> place;
        int ideal = 0;
        if (kind == "global") {
            std::cout << (width == 4   ? sectors<float>(places)
                          : width == 8 ? sectors<float2>(places)
                                       : sectors<float4>(places));
        } else {
            std::cout << emulator::shared_wavefronts(places.of, ~0u, width, kind == "store", &ideal)
                      << ' ' << ideal;
        }
        std::cout << '\n';
    }
}
