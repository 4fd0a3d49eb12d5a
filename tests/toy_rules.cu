// What the emulator says to the rules of docs/toys, one line for each line of the input. Run by
// test_toys.py.
//
//   shared, store (to shared memory)    the wavefronts of a request, and the fewest possible
//   global                              the sectors of a request
//   operand DESCRIPTOR ROWS             the units of 16 bytes that wgmma reads, as one number
//
// A request is the bytes per lane and 32 addresses; one is "null" if that lane of a request to shared
// memory is not active. ROWS are negative if the operand is MN-major.
#include <cuda_runtime.h>

#include <iostream>
#include <string>

#include "emulator/emulator.h"
#include "emulator/hopper/wgmma_operands.h"

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

void print_request(const std::string& kind) {
    int width;
    std::cin >> width;
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
        std::cout << emulator::shared_wavefronts(offsets.of_lane, active, width, kind == "store",
                                                 &ideal)
                  << ' ' << ideal;
    }
}

void print_operand() {
    uint64_t descriptor;
    int rows;
    std::cin >> descriptor >> rows;
    const emulator::Operand operand(descriptor, rows < 0);
    uint64_t all = 0;
    operand.each(std::abs(rows), [&](const char* chunk, unsigned, unsigned) {
        all = (all * 31 + (chunk - operand.place(0)) / 16) % 1000003;
    });
    std::cout << all;
}

int main() {
    for (std::string kind; std::cin >> kind;) {
        kind == "operand" ? print_operand() : print_request(kind);
        std::cout << '\n';
    }
}
