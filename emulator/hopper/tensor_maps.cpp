// Tensor maps, with most of the driver's checks of them (CUDA driver API, cuTensorMapEncodeTiled),
// and the entry point by which programs find that function.

#include "emulator/hopper/tensor_maps.h"

#include <algorithm>
#include <cstring>
#include <string>

#include "emulator/trace/lines.h"
#include "emulator/trace/report.h"

namespace emulator {
namespace {

// By CUtensorMapDataType: UINT8, UINT16, UINT32, INT32, UINT64, INT64, FLOAT16, FLOAT32, FLOAT64,
// BFLOAT16.
constexpr uint8_t kElementBytes[] = {1, 2, 4, 4, 8, 8, 2, 4, 8, 2};
constexpr uint8_t kSwizzleBytes[] = {0, 32, 64, 128};  // by CUtensorMapSwizzle

std::string out_of_range(const char* what, unsigned i, uint64_t value, const char* accepted) {
    return what + ("[" + std::to_string(i)) + "] is " + std::to_string(value) + ", not " + accepted;
}

// Why the driver or the emulator refuses such a map; "" if they do not.
std::string why_refused(const TensorMap& m, unsigned rank, const cuuint32_t* element_strides) {
    if (rank < 1 || rank > 5) return "rank is " + std::to_string(rank) + ", not 1 to 5";
    if (reinterpret_cast<uintptr_t>(m.address) % 16)
        return "globalAddress is not aligned to 16 bytes";
    for (unsigned i = 0; i < rank; ++i) {
        if (m.dims[i] == 0 || m.dims[i] > uint64_t(1) << 32)
            return out_of_range("globalDim", i, m.dims[i], "1 to 2^32");
        if (i + 1 < rank && (m.strides[i] % 16 || m.strides[i] >= uint64_t(1) << 40))
            return out_of_range("globalStrides", i, m.strides[i], "a multiple of 16 below 2^40");
        if (m.box[i] == 0 || m.box[i] > 256) return out_of_range("boxDim", i, m.box[i], "1 to 256");
        if (element_strides[i] == 0 || element_strides[i] > 8)
            return out_of_range("elementStrides", i, element_strides[i], "1 to 8");
        // The driver ignores elementStrides[0] unless the data are interleaved.
        if (i > 0 && element_strides[i] != 1)
            return out_of_range("elementStrides", i, element_strides[i],
                                "1, which alone the emulator supports");
    }
    const uint64_t row = m.row_bytes();
    if (row % 16)
        return "a row of the box has " + std::to_string(row) + " bytes, not a multiple of 16";
    if (m.swizzle_bytes && row > m.swizzle_bytes)
        return "a row of the box has " + std::to_string(row) + " bytes, more than the swizzle's " +
               std::to_string(m.swizzle_bytes);
    return "";
}

CUresult refuse(const std::string& why) {
    report_and_print("cuTensorMapEncodeTiled: " + why);
    return CUDA_ERROR_INVALID_VALUE;
}

}  // namespace
}  // namespace emulator

using namespace emulator;

CUresult cuTensorMapEncodeTiled(CUtensorMap* map, CUtensorMapDataType type, cuuint32_t rank,
                                void* address, const cuuint64_t* dims, const cuuint64_t* strides,
                                const cuuint32_t* box, const cuuint32_t* element_strides,
                                CUtensorMapInterleave interleave, CUtensorMapSwizzle swizzle,
                                CUtensorMapL2promotion, CUtensorMapFloatOOBfill) {
    if (reinterpret_cast<uintptr_t>(map) % 64)
        return refuse("the CUtensorMap is not aligned to 64 bytes");
    if (unsigned(type) >= sizeof kElementBytes)
        return refuse("the emulator does not support this data type");
    if (interleave || unsigned(swizzle) >= sizeof kSwizzleBytes)
        return refuse(
            "the emulator supports no interleaving, and only the swizzles of 32, 64 and 128 bytes");
    const unsigned known = std::min(rank, 5u);
    TensorMap m{};
    m.magic = TensorMap::kMagic;
    m.address = static_cast<char*>(address);
    m.rank = uint8_t(known);
    m.element_bytes = kElementBytes[type];
    m.swizzle_bytes = kSwizzleBytes[swizzle];
    std::fill_n(m.dims, 5, 1);
    std::fill_n(m.box, 5, 1);
    std::copy_n(dims, known, m.dims);
    std::copy_n(box, known, m.box);
    if (known > 1) std::copy_n(strides, known - 1, m.strides);
    if (const std::string why = why_refused(m, rank, element_strides); !why.empty())
        return refuse(why);
    const uint64_t row = m.dims[0] * m.element_bytes;
    for (int i = 1; i < m.rank; ++i)
        if (m.dims[i] > 1 && m.strides[i - 1] < row)
            report_note("cuTensorMapEncodeTiled" + place_of_host(),
                        "rows overlap: globalStrides[" + std::to_string(i - 1) + "] is " +
                            std::to_string(m.strides[i - 1]) + ", and a row, globalDim[0], has " +
                            std::to_string(row) + " bytes; globalStrides is in bytes");
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
