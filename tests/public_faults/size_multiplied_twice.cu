// Segmentation faults where the neighbour list is made, in some runs only; smaller systems never have them.
// Seen: crashes
// Cause: the function multiplies the count by the element's size, and the caller has done so already.
// Source: https://github.com/proteneer/timemachine/pull/664
// Says: reads 3200 bytes of the host's memory, but the array there has 800
#include <cstdio>
#include <vector>
template <typename T>
T* device_copy(const T* host, size_t count) {
    T* device;
    cudaMalloc(&device, count * sizeof(T));
    cudaMemcpy(device, host, count * sizeof(T), cudaMemcpyHostToDevice);  // <- here
    return device;
}
__global__ void block_bounds(const int* atoms, int n, int* bounds) {
    const int first = (blockIdx.x * blockDim.x + threadIdx.x) * 8;
    if (first >= n) return;
    int low = atoms[first], high = low;
    for (int i = first; i < min(first + 8, n); ++i)
        low = min(low, atoms[i]), high = max(high, atoms[i]);
    bounds[first / 4] = low, bounds[first / 4 + 1] = high;
}
int main() {
    std::vector<int> atoms(200), bounds(50);
    for (size_t i = 0; i < atoms.size(); ++i) atoms[i] = int(i * 7 % 200);
#ifdef FIXED
    int* const dAtoms = device_copy(atoms.data(), atoms.size());
#else
    int* const dAtoms = device_copy(atoms.data(), atoms.size() * sizeof(int));
#endif
    int* dBounds;
    cudaMalloc(&dBounds, bounds.size() * sizeof(int));
    block_bounds<<<1, 32>>>(dAtoms, 200, dBounds);
    cudaMemcpy(bounds.data(), dBounds, bounds.size() * sizeof(int), cudaMemcpyDeviceToHost);
    printf("%d %d\n", bounds[48], bounds[49]);
    cudaFree(dAtoms), cudaFree(dBounds);
}
