// cuBLAS on the host: what a call may pass, and which memory it reads and writes. products.cpp
// multiplies.

#include <algorithm>
#include <cmath>
#include <cstring>
#include <set>
#include <string>
#include <vector>

#include "emulator/api/memory.h"
#include "emulator/engine/device_memory.h"
#include "emulator/libraries/cublas.h"
#include "emulator/libraries/elements.h"
#include "emulator/libraries/products.h"
#include "emulator/libraries/row_major.h"
#include "emulator/trace/lines.h"
#include "emulator/trace/report.h"

struct cublasContext {
    cudaStream_t stream = nullptr;
    cublasPointerMode_t pointers = CUBLAS_POINTER_MODE_HOST;
    cublasMath_t math = CUBLAS_DEFAULT_MATH;
};

namespace emulator::blas {
namespace {

std::set<cublasHandle_t>& handles = *new std::set<cublasHandle_t>;  // never destroyed

template <class T>
void store(void* data, cudaDataType type, size_t i, T value) {
    switch (type) {
        case CUDA_R_64F:
            static_cast<double*>(data)[i] = double(value);
            break;
        case CUDA_R_16F:
            static_cast<__half*>(data)[i] = float(value);
            break;
        case CUDA_R_16BF:
            static_cast<__nv_bfloat16*>(data)[i] = float(value);
            break;
        case CUDA_R_32I:
            static_cast<int*>(data)[i] = int(value);
            break;
        default:
            static_cast<float*>(data)[i] = float(value);
    }
}

// A matrix op(A) of rows x columns elements, as it lies in memory: `outer` runs of `inner`
// neighbouring elements.
struct Layout {
    const Matrix& matrix;
    size_t inner, outer;
    bool by_rows;  // elements of a row are neighbours
    Layout(const Matrix& matrix, long long rows, long long columns)
        : matrix(matrix), inner(rows), outer(columns),
          by_rows((matrix.op != CUBLAS_OP_N) != matrix.row_major) {
        if (by_rows) std::swap(inner, outer);
    }
    size_t at(size_t row, size_t column) const {
        return by_rows ? row * matrix.ld + column : row + column * matrix.ld;
    }
    bool is_vector() const { return *matrix.name == 'x' || *matrix.name == 'y'; }
    std::string ld() const {
        return (is_vector() ? "inc" : "ld") + std::string(1, char(std::tolower(matrix.name[0])));
    }
    std::string described() const {
        return std::string(matrix.name) + " (" + std::to_string(matrix.row_major ? outer : inner) +
               " x " + std::to_string(matrix.row_major ? inner : outer) + ", " + ld() + " " +
               std::to_string(matrix.ld) + ")";
    }
    Region region(const void* data, bool writes) const {
        const size_t bytes = bytes_of(matrix.type);
        return {described(), data, inner * bytes, matrix.ld * bytes, outer, writes};
    }
};

std::string at(const char* call, const char* file, int line) {
    return std::string(call) + " at " + short_place(file, line);
}

const char* c_type(cudaDataType type) {
    return type == CUDA_R_16F   ? "half"
           : type == CUDA_R_64F ? "double"
           : type == CUDA_R_32I ? "int"
                                : "float";
}

// Why cuBLAS refuses a product, or "".
std::string invalid(const Product& p) {
    for (const auto& [name, value] : {std::pair("m", p.m), {"n", p.n}, {"k", p.k}})
        if (value < 0) return std::string(name) + " is " + std::to_string(value);
    if (p.count < 0) return "the number of products is " + std::to_string(p.count);
    if (!p.alpha || !p.beta) return std::string(p.alpha ? "beta" : "alpha") + " is a null pointer";
    for (const Layout& l : {Layout(p.A, p.m, p.k), Layout(p.B, p.k, p.n), Layout(p.C, p.m, p.n),
                            Layout(p.D, p.m, p.n)}) {
        if (l.matrix.ld >= (long long)(std::max<size_t>(l.inner, 1))) continue;
        std::string why = l.ld() + " is " + std::to_string(l.matrix.ld);
        if (l.is_vector()) return why;
        why += std::string(", but ") + l.matrix.name + " has " + std::to_string(l.inner) +
               (l.matrix.row_major ? " columns" : " rows");
        if (!l.matrix.row_major && p.A.op == CUBLAS_OP_N && p.B.op == CUBLAS_OP_N)
            why += std::string(": ") + kRowMajorAdvice;
        return why;
    }
    return "";
}

struct Scales {
    double alpha, beta;
};
Scales scales(const Product& p) {
    return {load<double>(p.alpha, p.scale, 0), load<double>(p.beta, p.scale, 0)};
}

double gelu(double x) {
    return 0.5 * x * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
}

// The product of op(B)^T and op(A)^T, which is row-major what D is column-major. A program that
// times many calls of the same product takes the time of one.
template <class T>
const std::vector<T>& multiplied(const Product& p, const void* A, const void* B) {
    static std::vector<T> last_P, last_Q, R;
    const size_t m = p.m, n = p.n, k = p.k;
    const Layout a(p.A, p.m, p.k), b(p.B, p.k, p.n);
    std::vector<T> P(n * k), Q(k * m);
    for (size_t j = 0; j < n; ++j)
        for (size_t l = 0; l < k; ++l) P[j * k + l] = load<T>(B, p.B.type, b.at(l, j));
    for (size_t l = 0; l < k; ++l)
        for (size_t i = 0; i < m; ++i) Q[l * m + i] = load<T>(A, p.A.type, a.at(i, l));
    const auto same = [](const std::vector<T>& x, const std::vector<T>& y) {  // NaN is, too
        return x.size() == y.size() && std::memcmp(x.data(), y.data(), x.size() * sizeof(T)) == 0;
    };
    if (R.size() == m * n && same(P, last_P) && same(Q, last_Q)) return R;
    R.assign(m * n, 0);
    multiply(n, m, k, P.data(), Q.data(), R.data());
    last_P.swap(P);
    last_Q.swap(Q);
    return R;
}

template <class T>
void compute(const Product& p, const Scales& scale, const void* A, const void* B, const void* C,
             void* D) {
    const std::vector<T>* const product = scale.alpha == 0 ? nullptr : &multiplied<T>(p, A, B);
    const Layout c(p.C, p.m, p.n), d(p.D, p.m, p.n);
    for (size_t j = 0; j < size_t(p.n); ++j)
        for (size_t i = 0; i < size_t(p.m); ++i) {
            T value = product ? T(scale.alpha) * (*product)[j * p.m + i] : 0;
            if (scale.beta != 0) value += T(scale.beta) * load<T>(C, p.C.type, c.at(i, j));
            if (p.bias) value += load<T>(p.bias, p.bias_type, i);
            if (p.relu) value = value < 0 ? 0 : value;  // NaN stays NaN
            if (p.gelu) value = T(gelu(double(value)));
            store(D, p.D.type, d.at(i, j), value);
        }
}

// Whether two of the matrices of a strided batch have an element in common. They may lie side by
// side, each in other rows of the same columns.
bool overlap(const Layout& l, int count) {
    if (l.matrix.pointers || l.inner == 0) return false;
    const size_t ld = size_t(l.matrix.ld), stride = size_t(std::abs(l.matrix.stride));
    for (size_t i = 1; i < size_t(count); ++i) {
        const size_t columns = i * stride / ld, rest = i * stride % ld;
        if (columns >= l.outer) return false;
        if (rest < l.inner || (columns + 1 < l.outer && rest + l.inner > ld)) return true;
    }
    return false;
}

// The place of each product's matrix.
std::vector<char*> places(const Matrix& matrix, int count) {
    std::vector<char*> all(count);
    for (int i = 0; i < count; ++i)
        all[i] = matrix.pointers ? static_cast<char* const*>(matrix.data)[i]
                                 : const_cast<char*>(static_cast<const char*>(matrix.data)) +
                                       i * matrix.stride * (long long)(bytes_of(matrix.type));
    return all;
}

// host: alpha and beta, if they are the host's.
cudaError_t run(const Product& p, const Scales* host) {
    Scales scale = host ? *host : Scales{};
    std::vector<char*> A, B, C, D;
    // What tells where the matrices are, in device memory.
    std::vector<Region> regions;
    if (!host)
        for (const void* pointer : {p.alpha, p.beta})
            regions.push_back({pointer == p.alpha ? "alpha" : "beta", pointer, bytes_of(p.scale),
                               bytes_of(p.scale), 1, false});
    for (const Matrix* m : {&p.A, &p.B, &p.D})
        if (m->pointers)
            regions.push_back({std::string("the pointers to ") + m->name, m->data,
                               p.count * sizeof(void*), p.count * sizeof(void*), 1, false});
    const auto read = [&] {
        if (!host) scale = scales(p);
        A = places(p.A, p.count), B = places(p.B, p.count);
        C = places(p.C, p.count), D = places(p.D, p.count);
    };
    if (regions.empty()) read();
    else if (const cudaError_t error = call_library(p.call, regions, read)) return error;

    regions.clear();
    const Layout a(p.A, p.m, p.k), b(p.B, p.k, p.n), c(p.C, p.m, p.n), d(p.D, p.m, p.n);
    for (int i = 0; i < p.count; ++i) {
        if (scale.alpha != 0 && p.k > 0) {
            regions.push_back(a.region(A[i], false));
            regions.push_back(b.region(B[i], false));
        }
        if (scale.beta != 0) regions.push_back(c.region(C[i], false));
        regions.push_back(d.region(D[i], true));
    }
    if (p.bias)
        regions.push_back({"the bias", p.bias, p.m * bytes_of(p.bias_type),
                           p.m * bytes_of(p.bias_type), 1, false});
    return call_library(p.call, regions, [&] {
        const bool in_double = p.A.type == CUDA_R_64F || p.A.type == CUDA_R_8I;  // of int8: exact
        for (int i = 0; i < p.count; ++i)
            (in_double ? compute<double> : compute<float>)(p, scale, A[i], B[i], C[i], D[i]);
        if (p.count == 1 && scale.alpha == 1 && scale.beta == 0)
            compare_with_row_major(p, A[0], B[0], D[0],
                                   std::string(p.call) + " at " + streams::place_in_stream());
    });
}

}  // namespace

// Source: cuBLAS's documentation, the table at
// cublasGemmEx().
bool supported(const Product& p) {
    const cudaDataType in = p.A.type, out = p.D.type;
    if (p.B.type != in || p.C.type != out) return false;
    switch (scale_of(p.compute)) {
        case CUDA_R_16F:
            return in == CUDA_R_16F && out == in;
        case CUDA_R_64F:
            return in == CUDA_R_64F && out == in;
        case CUDA_R_32I:
            return in == CUDA_R_8I && out == CUDA_R_32I;
        default:
            return (in == CUDA_R_32F || in == CUDA_R_16F || in == CUDA_R_16BF || in == CUDA_R_8I) &&
                   (out == CUDA_R_32F || (out == in && in != CUDA_R_8I));
    }
}

cublasStatus_t refuse(const char* call, const char* file, int line, cublasStatus_t status,
                      const std::string& why) {
    report_and_print(at(call, file, line) + " fails, " + cublasGetStatusName(status) + ": " + why);
    return status;
}

bool is_handle(const void* handle) {
    return handles.count(static_cast<cublasHandle_t>(const_cast<void*>(handle))) > 0;
}

cublasStatus_t multiply(cudaStream_t stream, bool on_host, const Product& p, const char* file,
                        int line) {
    const auto refused = [&](cublasStatus_t status, const std::string& why) {
        return refuse(p.call, file, line, status, why);
    };
    if (const std::string why = invalid(p); !why.empty())
        return refused(CUBLAS_STATUS_INVALID_VALUE, why);
    if (!supported(p))
        return refused(CUBLAS_STATUS_NOT_SUPPORTED,
                       "matrices of these types, with this type to "
                       "compute in, are not supported");
    if (p.alpha_is != kUnknown && p.alpha_is != p.scale)  // a mistake, but no error of cuBLAS's
        report_and_print(at(p.call, file, line) + ": alpha points to a " + c_type(p.alpha_is) +
                         ", but with this type to compute in cuBLAS reads it as a " +
                         c_type(p.scale));
    for (const void* pointer : {p.alpha, p.beta}) {
        const Allocation* const a = find_allocation(reinterpret_cast<uintptr_t>(pointer));
        if (on_host && a && a->kind == Memory::device)
            return refused(CUBLAS_STATUS_INVALID_VALUE,
                           std::string(pointer == p.alpha ? "alpha" : "beta") +
                               " lies in device memory, but the pointer mode is the host's");
    }
    if (p.m == 0 || p.n == 0 || p.count == 0) return CUBLAS_STATUS_SUCCESS;
    if (const Layout d(p.D, p.m, p.n); overlap(d, p.count))  // the result is undefined
        report_and_print(at(p.call, file, line) + ": the matrices " + p.D.name +
                         " of the batch overlap: their stride is " + std::to_string(p.D.stride) +
                         " elements, and each takes " + std::to_string(d.outer * p.D.ld));
    const Scales host = on_host ? scales(p) : Scales{};
    const cudaError_t error = in_stream(
        stream, [=] { return run(p, on_host ? &host : nullptr); }, file, line);
    return error ? CUBLAS_STATUS_EXECUTION_FAILED : CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t multiply(cublasHandle_t handle, const Product& p, const char* file, int line) {
    if (!is_handle(handle))
        return refuse(p.call, file, line, CUBLAS_STATUS_NOT_INITIALIZED,
                      "the handle is not from cublasCreate()");
    return multiply(handle->stream, handle->pointers == CUBLAS_POINTER_MODE_HOST, p, file, line);
}

}  // namespace emulator::blas

using namespace emulator::blas;

// clang-format off
#define EMULATOR_STATUSES(X)                                                                               \
    X(CUBLAS_STATUS_SUCCESS, "success")                                                                    \
    X(CUBLAS_STATUS_NOT_INITIALIZED, "the library was not initialized")                                    \
    X(CUBLAS_STATUS_ALLOC_FAILED, "the resource allocation failed")                                        \
    X(CUBLAS_STATUS_INVALID_VALUE, "an unsupported value or parameter was passed to the function")         \
    X(CUBLAS_STATUS_ARCH_MISMATCH, "the function requires an architectural feature absent from the device")\
    X(CUBLAS_STATUS_MAPPING_ERROR, "an access to GPU memory space failed")                                 \
    X(CUBLAS_STATUS_EXECUTION_FAILED, "the function failed to launch on the GPU")                          \
    X(CUBLAS_STATUS_INTERNAL_ERROR, "an internal operation failed")                                        \
    X(CUBLAS_STATUS_NOT_SUPPORTED, "the requested functionality is not supported")                         \
    X(CUBLAS_STATUS_LICENSE_ERROR, "the license check failed")
// clang-format on
static const char* describe(cublasStatus_t status, bool by_name) {
#define EMULATOR_DESCRIBED(name, text) \
    if (status == name) return by_name ? #name : text;
    EMULATOR_STATUSES(EMULATOR_DESCRIBED)
#undef EMULATOR_DESCRIBED
    return "unrecognized status";
}
const char* cublasGetStatusName(cublasStatus_t status) { return describe(status, true); }
const char* cublasGetStatusString(cublasStatus_t status) { return describe(status, false); }

cublasStatus_t cublasCreate(cublasHandle_t* handle) {
    handles.insert(*handle = new cublasContext);
    return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasDestroy(cublasHandle_t handle) {
    if (!handles.erase(handle)) return CUBLAS_STATUS_NOT_INITIALIZED;
    delete handle;
    return CUBLAS_STATUS_SUCCESS;
}
template <class Change>
static cublasStatus_t with(cublasHandle_t handle, const Change& change) {
    if (!handles.count(handle)) return CUBLAS_STATUS_NOT_INITIALIZED;
    change(*handle);
    return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasSetStream(cublasHandle_t handle, cudaStream_t stream) {
    return with(handle, [&](cublasContext& h) { h.stream = stream; });
}
cublasStatus_t cublasGetStream(cublasHandle_t handle, cudaStream_t* stream) {
    return with(handle, [&](cublasContext& h) { *stream = h.stream; });
}
cublasStatus_t cublasSetPointerMode(cublasHandle_t handle, cublasPointerMode_t mode) {
    return with(handle, [&](cublasContext& h) { h.pointers = mode; });
}
cublasStatus_t cublasGetPointerMode(cublasHandle_t handle, cublasPointerMode_t* mode) {
    return with(handle, [&](cublasContext& h) { *mode = h.pointers; });
}
cublasStatus_t cublasSetMathMode(cublasHandle_t handle, cublasMath_t mode) {
    return with(handle, [&](cublasContext& h) { h.math = mode; });
}
cublasStatus_t cublasGetMathMode(cublasHandle_t handle, cublasMath_t* mode) {
    return with(handle, [&](cublasContext& h) { *mode = h.math; });
}
