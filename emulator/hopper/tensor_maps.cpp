// Tensor maps, and the driver's checks of them (CUDA driver API, cuTensorMapEncodeTiled).

#include "emulator/hopper/tensor_maps.h"

#include <cstdio>
#include <cstring>

#include "emulator/trace/report.h"

namespace emulator {

std::string why_no_tensor_map(const TensorMap& m, const uint32_t* box,
                              const uint32_t* element_strides) {
    const auto text = [](const char* what, int i, uint64_t value, const char* accepted) {
        return what + std::to_string(i) + "] is " + std::to_string(value) + ", not " + accepted;
    };
    if (m.element_bytes == 0) return "the emulator has no such data type";
    if (m.rank < 1 || m.rank > 5) return "rank is " + std::to_string(m.rank) + ", not 1 to 5";
    if (reinterpret_cast<uintptr_t>(m.address) % 16)
        return "the global address is not a multiple of 16";
    for (int i = 0; i < m.rank; ++i) {
        if (m.dims[i] == 0 || m.dims[i] > uint64_t(1) << 32)
            return text("globalDim[", i, m.dims[i], "1 to 2^32");
        if (i + 1 < m.rank && (m.strides[i] % 16 || m.strides[i] >= uint64_t(1) << 40))
            return text("globalStrides[", i, m.strides[i], "a multiple of 16 below 2^40");
        if (box[i] == 0 || box[i] > 256) return text("boxDim[", i, box[i], "1 to 256");
        if (element_strides[i] == 0 || element_strides[i] > 8)
            return text("elementStrides[", i, element_strides[i], "1 to 8");
        if (i > 0 && element_strides[i] != 1) return "the emulator has no elementStrides but 1";
    }
    const uint64_t row = uint64_t(box[0]) * m.element_bytes;
    if (row % 16)
        return "a row of the box has " + std::to_string(row) + " bytes, not a multiple of 16";
    if (m.swizzle_bytes && row > m.swizzle_bytes)
        return "a row of the box has " + std::to_string(row) + " bytes, more than the swizzle's " +
               std::to_string(m.swizzle_bytes);
    return "";
}

}  // namespace emulator

using namespace emulator;

CUresult cuTensorMapEncodeTiled(CUtensorMap* map, CUtensorMapDataType type, cuuint32_t rank,
                                void* address, const cuuint64_t* dims, const cuuint64_t* strides,
                                const cuuint32_t* box, const cuuint32_t* element_strides,
                                CUtensorMapInterleave interleave, CUtensorMapSwizzle swizzle,
                                CUtensorMapL2promotion, CUtensorMapFloatOOBfill) {
    constexpr uint8_t kBytes[] = {1, 2, 4, 4, 8, 8, 2, 4, 8, 2}, kSwizzles[] = {0, 32, 64, 128};
    TensorMap m{};
    m.magic = TensorMap::kMagic;
    m.address = static_cast<char*>(address);
    m.rank = uint8_t(std::min(rank, 255u));
    m.element_bytes = unsigned(type) < sizeof kBytes ? kBytes[type] : uint8_t(0);
    m.swizzle_bytes = kSwizzles[swizzle & 3];
    std::fill_n(m.dims, 5, 1);
    std::fill_n(m.box, 5, 1);
    for (unsigned i = 0; i < std::min(rank, 5u); ++i) {
        m.dims[i] = dims[i];
        m.box[i] = box[i];
        if (i + 1 < rank && i < 4) m.strides[i] = strides[i];
    }
    std::string why = why_no_tensor_map(m, box, element_strides);
    if (interleave || unsigned(swizzle) > 3) why = "the emulator has no such interleave or swizzle";
    if (reinterpret_cast<uintptr_t>(map) % 64) why = "the map is not at a multiple of 64";
    if (!why.empty()) {
        report_problem("cuTensorMapEncodeTiled: " + why);
        std::fprintf(stderr, "emulator: cuTensorMapEncodeTiled: %s\n", why.c_str());
        return CUDA_ERROR_INVALID_VALUE;
    }
    *map = CUtensorMap{};
    std::memcpy(map, &m, sizeof m);
    return CUDA_SUCCESS;
}

cudaError_t cudaGetDriverEntryPointByVersion(const char* symbol, void** function, unsigned,
                                             unsigned long long,
                                             cudaDriverEntryPointQueryResult* found) {
    const bool has = std::strcmp(symbol, "cuTensorMapEncodeTiled") == 0;
    *function = has ? reinterpret_cast<void*>(cuTensorMapEncodeTiled) : nullptr;
    if (found) *found = has ? cudaDriverEntryPointSuccess : cudaDriverEntryPointSymbolNotFound;
    return cudaSuccess;
}
