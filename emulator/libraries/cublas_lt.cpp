// cuBLASLt on the host: matmul as a product of cuBLAS's.

#include <cstring>
#include <set>
#include <string>

#include "emulator/include/cublasLt.h"
#include "emulator/libraries/cublas.h"

struct cublasLtContext {};

using namespace emulator::blas;

static std::set<cublasLtHandle_t>& handles = *new std::set<cublasLtHandle_t>;  // never destroyed

cublasStatus_t cublasLtCreate(cublasLtHandle_t* handle) {
    handles.insert(*handle = new cublasLtContext);
    return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtDestroy(cublasLtHandle_t handle) {
    if (!handles.erase(handle)) return CUBLAS_STATUS_NOT_INITIALIZED;
    delete handle;
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatrixLayoutInit(cublasLtMatrixLayout_t layout, cudaDataType type,
                                        uint64_t rows, uint64_t columns, int64_t ld) {
    *layout = {uint32_t(type), CUBLASLT_ORDER_COL, rows, columns, ld, 1, 0};
    return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulDescInit(cublasLtMatmulDesc_t matmul, cublasComputeType_t compute,
                                      cudaDataType_t scale) {
    *matmul = {compute,     scale,       CUBLASLT_POINTER_MODE_HOST,
               CUBLAS_OP_N, CUBLAS_OP_N, CUBLASLT_EPILOGUE_DEFAULT,
               nullptr,     -1,          0};
    return CUBLAS_STATUS_SUCCESS;
}

// Sets a member, if the attribute has its size.
template <class T>
static cublasStatus_t set(T& member, const void* value, size_t bytes, const char* call,
                          const char* file, int line) {
    if (bytes != sizeof(T))
        return refuse(call, file, line, CUBLAS_STATUS_INVALID_VALUE,
                      "the attribute has " + std::to_string(sizeof(T)) + " bytes, not " +
                          std::to_string(bytes));
    std::memcpy(&member, value, sizeof(T));
    return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatrixLayoutSetAttribute(cublasLtMatrixLayout_t layout,
                                                cublasLtMatrixLayoutAttribute_t attribute,
                                                const void* value, size_t bytes, const char* file,
                                                int line) {
    const auto to = [&](auto& member) {
        return set(member, value, bytes, "cublasLtMatrixLayoutSetAttribute", file, line);
    };
    switch (attribute) {
        case CUBLASLT_MATRIX_LAYOUT_TYPE:
            return to(layout->type);
        case CUBLASLT_MATRIX_LAYOUT_ORDER:
            return to(layout->order);
        case CUBLASLT_MATRIX_LAYOUT_ROWS:
            return to(layout->rows);
        case CUBLASLT_MATRIX_LAYOUT_COLS:
            return to(layout->columns);
        case CUBLASLT_MATRIX_LAYOUT_LD:
            return to(layout->ld);
        case CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT:
            return to(layout->count);
        case CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET:
            return to(layout->stride);
    }
    return CUBLAS_STATUS_INVALID_VALUE;
}
cublasStatus_t cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t matmul,
                                              cublasLtMatmulDescAttributes_t attribute,
                                              const void* value, size_t bytes, const char* file,
                                              int line) {
    const auto to = [&](auto& member) {
        return set(member, value, bytes, "cublasLtMatmulDescSetAttribute", file, line);
    };
    switch (attribute) {
        case CUBLASLT_MATMUL_DESC_COMPUTE_TYPE:
            return to(matmul->compute);
        case CUBLASLT_MATMUL_DESC_SCALE_TYPE:
            return to(matmul->scale);
        case CUBLASLT_MATMUL_DESC_POINTER_MODE:
            return to(matmul->pointers);
        case CUBLASLT_MATMUL_DESC_TRANSA:
            return to(matmul->op_A);
        case CUBLASLT_MATMUL_DESC_TRANSB:
            return to(matmul->op_B);
        case CUBLASLT_MATMUL_DESC_EPILOGUE:
            return to(matmul->epilogue);
        case CUBLASLT_MATMUL_DESC_BIAS_POINTER:
            return to(matmul->bias);
        case CUBLASLT_MATMUL_DESC_FAST_ACCUM:
            return to(matmul->fast_accumulation);
        case CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE:
            return to(matmul->bias_type);
    }
    return CUBLAS_STATUS_INVALID_VALUE;
}

static Matrix matrix(const char* name, const void* data, const cublasLtMatrixLayoutOpaque_t& layout,
                     int op) {
    return {
        name,          data,  cudaDataType(layout.type),         layout.ld, cublasOperation_t(op),
        layout.stride, false, layout.order == CUBLASLT_ORDER_ROW};
}
static Product product(const cublasLtMatmulDescOpaque_t& matmul,
                       const cublasLtMatrixLayoutOpaque_t& A, const cublasLtMatrixLayoutOpaque_t& B,
                       const cublasLtMatrixLayoutOpaque_t& C,
                       const cublasLtMatrixLayoutOpaque_t& D) {
    Product p = {};
    p.call = "cublasLtMatmul";
    p.m = D.rows;
    p.n = D.columns;
    p.k = matmul.op_A == CUBLAS_OP_N ? A.columns : A.rows;
    p.scale = cudaDataType(matmul.scale);
    p.A = matrix("A", nullptr, A, matmul.op_A);
    p.B = matrix("B", nullptr, B, matmul.op_B);
    p.C = matrix("C", nullptr, C, CUBLAS_OP_N);
    p.D = matrix("D", nullptr, D, CUBLAS_OP_N);
    p.compute = cublasComputeType_t(matmul.compute);
    p.count = D.count;
    if (matmul.epilogue & CUBLASLT_EPILOGUE_BIAS) p.bias = matmul.bias;
    p.bias_type = cudaDataType(matmul.bias_type < 0 ? int(D.type) : matmul.bias_type);
    p.relu = matmul.epilogue & CUBLASLT_EPILOGUE_RELU;
    p.gelu = matmul.epilogue & CUBLASLT_EPILOGUE_GELU;
    return p;
}
static bool supported_epilogue(uint32_t epilogue) {
    return epilogue == CUBLASLT_EPILOGUE_DEFAULT || epilogue == CUBLASLT_EPILOGUE_RELU ||
           epilogue == CUBLASLT_EPILOGUE_BIAS || epilogue == CUBLASLT_EPILOGUE_RELU_BIAS ||
           epilogue == CUBLASLT_EPILOGUE_GELU || epilogue == CUBLASLT_EPILOGUE_GELU_BIAS;
}

// Why layouts do not go together, or "".
static std::string mismatch(const cublasLtMatmulDescOpaque_t& matmul,
                            const cublasLtMatrixLayoutOpaque_t& A,
                            const cublasLtMatrixLayoutOpaque_t& B,
                            const cublasLtMatrixLayoutOpaque_t& C,
                            const cublasLtMatrixLayoutOpaque_t& D) {
    const auto size = [](const char* name, uint64_t rows, uint64_t columns) {
        return name + (" is " + std::to_string(rows)) + " x " + std::to_string(columns);
    };
    const bool normal_A = matmul.op_A == CUBLAS_OP_N, normal_B = matmul.op_B == CUBLAS_OP_N;
    const uint64_t m = normal_A ? A.rows : A.columns, k = normal_A ? A.columns : A.rows;
    const uint64_t k_of_B = normal_B ? B.rows : B.columns, n = normal_B ? B.columns : B.rows;
    for (const auto* layout : {&A, &B, &C, &D})
        if (layout->order != CUBLASLT_ORDER_COL && layout->order != CUBLASLT_ORDER_ROW)
            return "the emulator has only CUBLASLT_ORDER_COL and CUBLASLT_ORDER_ROW";
    if (k == k_of_B && D.rows == m && D.columns == n && C.rows == m && C.columns == n) return "";
    return "these do not go together: " + size(normal_A ? "A" : "A^T", m, k) + ", " +
           size(normal_B ? "B" : "B^T", k_of_B, n) + ", " + size("C", C.rows, C.columns) + ", " +
           size("D", D.rows, D.columns);
}

cublasStatus_t cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t handle, cublasLtMatmulDesc_t matmul,
                                              cublasLtMatrixLayout_t A, cublasLtMatrixLayout_t B,
                                              cublasLtMatrixLayout_t C, cublasLtMatrixLayout_t D,
                                              cublasLtMatmulPreference_t, int requested,
                                              cublasLtMatmulHeuristicResult_t results[],
                                              int* returned, const char* file, int line) {
    constexpr const char* call = "cublasLtMatmulAlgoGetHeuristic";
    *returned = 0;
    if (!handles.count(handle) && !is_handle(handle)) return CUBLAS_STATUS_NOT_INITIALIZED;
    if (const std::string why = mismatch(*matmul, *A, *B, *C, *D); !why.empty())
        return refuse(call, file, line, CUBLAS_STATUS_INVALID_VALUE, why);
    if (requested < 1) return CUBLAS_STATUS_INVALID_VALUE;
    if (!supported(product(*matmul, *A, *B, *C, *D)) || !supported_epilogue(matmul->epilogue))
        return CUBLAS_STATUS_NOT_SUPPORTED;
    results[0] = {{}, 0, CUBLAS_STATUS_SUCCESS, 1, {}};
    *returned = 1;
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmul(cublasLtHandle_t handle, cublasLtMatmulDesc_t matmul,
                              const void* alpha, const void* A, cublasLtMatrixLayout_t A_layout,
                              const void* B, cublasLtMatrixLayout_t B_layout, const void* beta,
                              const void* C, cublasLtMatrixLayout_t C_layout, void* D,
                              cublasLtMatrixLayout_t D_layout, const cublasLtMatmulAlgo_t*, void*,
                              size_t, cudaStream_t stream, const char* file, int line) {
    const auto refused = [=](cublasStatus_t status, const std::string& why) {
        return refuse("cublasLtMatmul", file, line, status, why);
    };
    if (!handles.count(handle) && !is_handle(handle))
        return refused(CUBLAS_STATUS_NOT_INITIALIZED, "the handle is not from cublasLtCreate()");
    if (const std::string why = mismatch(*matmul, *A_layout, *B_layout, *C_layout, *D_layout);
        !why.empty())
        return refused(CUBLAS_STATUS_INVALID_VALUE, why);
    if (!supported_epilogue(matmul->epilogue))
        return refused(CUBLAS_STATUS_NOT_SUPPORTED, "the emulator has no such epilogue");
    Product p = product(*matmul, *A_layout, *B_layout, *C_layout, *D_layout);
    p.alpha = alpha;
    p.beta = beta;
    p.A.data = A;
    p.B.data = B;
    p.C.data = C;
    p.D.data = D;
    return multiply(stream, matmul->pointers == CUBLASLT_POINTER_MODE_HOST, p, file, line);
}
