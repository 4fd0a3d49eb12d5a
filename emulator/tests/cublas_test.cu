// cuBLAS on the host: products against their definition, what a call may pass, and memory.
#include <cublasLt.h>
#include <cublas_v2.h>

#include "device.h"

#ifndef CUBLAS_API_H_
#error "headers such as NVIDIA's helper_cuda.h test for cuBLAS by this name"
#endif

namespace {

class Cublas : public Base {
protected:
    cublasHandle_t handle;
    Cublas() { cublasCreate(&handle); }
    ~Cublas() { cublasDestroy(handle); }
};

// Element (row, column) of a column-major matrix or of its transpose.
double element(const std::vector<double>& x, int ld, cublasOperation_t op, int row, int column) {
    return op == CUBLAS_OP_N ? x[row + size_t(column) * ld] : x[column + size_t(row) * ld];
}
// alpha op(A) op(B) + beta C, with what lies between the columns of C unchanged.
std::vector<double> expected(cublasOperation_t op_A, cublasOperation_t op_B, int m, int n, int k,
                             double alpha, const std::vector<double>& A, int lda,
                             const std::vector<double>& B, int ldb, double beta,
                             const std::vector<double>& C, int ldc) {
    std::vector<double> result = C;
    for (int i = 0; i < m; ++i)
        for (int j = 0; j < n; ++j) {
            double sum = 0;
            for (int l = 0; l < k; ++l)
                sum += element(A, lda, op_A, i, l) * element(B, ldb, op_B, l, j);
            result[i + size_t(j) * ldc] = alpha * sum + beta * C[i + size_t(j) * ldc];
        }
    return result;
}
std::vector<double> small_integers(size_t n, int seed) {
    std::vector<double> x(n);
    for (size_t i = 0; i < n; ++i) x[i] = double((i * 7 + seed) % 5) - 2;
    return x;
}
template <class T>
std::vector<T> as(const std::vector<double>& x) {
    return std::vector<T>(x.begin(), x.end());
}
template <class T>
std::vector<double> back(const Device<T>& x) {
    const std::vector<T> host = x.host();
    return std::vector<double>(host.begin(), host.end());
}

// A product with gaps between columns, in each combination of transposes.
template <class T, class Gemm>
void expect_products(const Gemm& gemm) {
    const int m = 7, n = 5, k = 9, lda = 11, ldb = 10, ldc = 8;
    const auto A = small_integers(lda * 9, 1), B = small_integers(ldb * 9, 2),
               C = small_integers(ldc * n, 3);
    for (const auto op_A : {CUBLAS_OP_N, CUBLAS_OP_T})
        for (const auto op_B : {CUBLAS_OP_N, CUBLAS_OP_C})
            for (const double beta : {0.0, 3.0}) {
                const Device<T> a(as<T>(A)), b(as<T>(B)), c(as<T>(C));
                const T alpha = 2.0f, its_beta = float(beta);
                EXPECT_EQ(gemm(op_A, op_B, m, n, k, &alpha, a.data, lda, b.data, ldb, &its_beta,
                               c.data, ldc),
                          CUBLAS_STATUS_SUCCESS);
                EXPECT_EQ(back(c), expected(op_A, op_B, m, n, k, 2, A, lda, B, ldb, beta, C, ldc));
            }
    expect_silence();
}

TEST_F(Cublas, ProductsOfEachType) {
    const auto with_handle = [&](auto gemm) {
        return [=](auto... arguments) { return gemm(handle, arguments...); };
    };
    expect_products<float>(with_handle([](auto... x) { return cublasSgemm(x...); }));
    expect_products<double>(with_handle([](auto... x) { return cublasDgemm(x...); }));
    expect_products<half>(with_handle([](auto... x) { return cublasHgemm(x...); }));
}

template <class In, class Out, class Scale, class Compute>
void expect_product_of(cublasHandle_t handle, cudaDataType in, cudaDataType out, Compute compute) {
    const int m = 7, n = 5, k = 9;
    const auto A = small_integers(m * k, 1), B = small_integers(k * n, 2);
    const Device<In> a(as<In>(A)), b(as<In>(B));
    const Device<Out> c(m * n);
    const Scale alpha = Scale(2), beta = Scale(0);
    EXPECT_EQ(cublasGemmEx(handle, CUBLAS_OP_N, CUBLAS_OP_N, m, n, k, &alpha, a.data, in, m, b.data,
                           in, k, &beta, c.data, out, m, compute, CUBLAS_GEMM_DEFAULT),
              CUBLAS_STATUS_SUCCESS);
    EXPECT_EQ(back(c), expected(CUBLAS_OP_N, CUBLAS_OP_N, m, n, k, 2, A, m, B, k, 0,
                                std::vector<double>(m * n), m));
    expect_silence();
}

TEST_F(Cublas, TypesOfGemmEx) {
    using Bf16 = __nv_bfloat16;
    expect_product_of<half, half, half>(handle, CUDA_R_16F, CUDA_R_16F, CUBLAS_COMPUTE_16F);
    expect_product_of<half, float, float>(handle, CUDA_R_16F, CUDA_R_32F, CUBLAS_COMPUTE_32F);
    expect_product_of<half, half, float>(handle, CUDA_R_16F, CUDA_R_16F, CUDA_R_32F);
    expect_product_of<Bf16, Bf16, float>(handle, CUDA_R_16BF, CUDA_R_16BF, CUBLAS_COMPUTE_32F);
    expect_product_of<int8_t, int, int>(handle, CUDA_R_8I, CUDA_R_32I, CUBLAS_COMPUTE_32I);
    expect_product_of<float, float, float>(handle, CUDA_R_32F, CUDA_R_32F,
                                           CUBLAS_COMPUTE_32F_FAST_TF32);
    float one = 1;
    EXPECT_EQ(cublasGemmEx(handle, CUBLAS_OP_N, CUBLAS_OP_N, 1, 1, 1, &one, floats.data, CUDA_R_32F,
                           1, floats.data, CUDA_R_16F, 1, &one, floats.data, CUDA_R_32F, 1,
                           CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT),
              CUBLAS_STATUS_NOT_SUPPORTED);
    expect_some({"CUBLAS_STATUS_NOT_SUPPORTED: matrices of these types"});
}

// Arrays of row-major matrices, and their product by a kernel, which a program copies to the host
// before or after it calls cuBLAS.
class RowMajor : public Cublas {
protected:
    static constexpr int m = 6, n = 4, k = 5;
    const std::vector<double> A = small_integers(m * k, 1), B = small_integers(k * n, 2);
    const Device<float> a{as<float>(A)}, b{as<float>(B)}, c{m * n}, of_kernel{m * n};
    RowMajor() {
        std::vector<float> C(m * n);
        for (int i = 0; i < m; ++i)
            for (int j = 0; j < n; ++j)
                for (int l = 0; l < k; ++l) C[i * n + j] += float(A[i * k + l] * B[l * n + j]);
        cudaMemcpy(of_kernel.data, C.data(), C.size() * sizeof(float), cudaMemcpyHostToDevice);
    }
    void multiply(cublasOperation_t op, int rows, int columns, const Device<float>& first, int lda,
                  const Device<float>& second, int ldb) {
        const float one = 1, zero = 0;
        cublasSgemm(handle, op, op, rows, columns, k, &one, first.data, lda, second.data, ldb,
                    &zero, c.data, rows);
    }
    void expect_notes(long expected, const char* advice = "") {
        const std::vector<std::string> notes = emulator::counts().notes;
        expect_silence();
        const auto is_meant = [&](const std::string& note) {
            return note.find("as row-major matrices") != note.npos &&
                   note.find(advice) != note.npos;
        };
        EXPECT_EQ(std::count_if(notes.begin(), notes.end(), is_meant), expected);
    }
};

TEST_F(RowMajor, ReadAsColumnMajor) {
    multiply(CUBLAS_OP_N, m, n, a, m, b, k);
    of_kernel.host();
    expect_notes(1, "swap A and B, and m and n");
}
TEST_F(RowMajor, ResultIsTransposed) {
    of_kernel.host();
    multiply(CUBLAS_OP_T, m, n, a, k, b, n);
    expect_notes(1);
}
TEST_F(RowMajor, ExchangedAndTransposed) {
    of_kernel.host();
    multiply(CUBLAS_OP_T, n, m, b, k, a, m);
    expect_notes(1, "B before A, and n before m, is right");
}
TEST_F(RowMajor, Exchanged) {
    of_kernel.host();
    multiply(CUBLAS_OP_N, n, m, b, n, a, k);
    c.host();
    expect_notes(0);
}
TEST_F(RowMajor, AnotherResult) {
    const Device<float> other(std::vector<float>(m * n, 3));
    other.host();
    multiply(CUBLAS_OP_N, m, n, a, m, b, k);
    c.host();
    expect_notes(0);
}

TEST_F(RowMajor, AResultWithNaN) {
    std::vector<float> C = of_kernel.host();
    C[1] = NAN;
    emulator::reset_counts();
    const Device<float> other(C);
    other.host();
    multiply(CUBLAS_OP_N, m, n, a, m, b, k);
    expect_notes(0);
}

// A half alpha beside floats is read as what it is not, and the result is as wrong as cuBLAS's.
TEST_F(Cublas, TypeOfAlpha) {
    const Device<half> a(16, half(1)), c(16, half(5));
    const float alpha = 1, beta = 0;
    cublasGemmEx(handle, CUBLAS_OP_N, CUBLAS_OP_N, 4, 4, 4, &alpha, a.data, CUDA_R_16F, 4, a.data,
                 CUDA_R_16F, 4, &beta, c.data, CUDA_R_16F, 4, CUBLAS_COMPUTE_16F,
                 CUBLAS_GEMM_DEFAULT);
    expect_some({"alpha points to a float..reads it as a half"});
    EXPECT_EQ(back(c), std::vector<double>(16, 0));
}

TEST_F(Cublas, SeveralProducts) {
    const int n = 3, count = 4;
    const auto A = small_integers(9 * count, 1), B = small_integers(9, 2);
    const Device<float> a(as<float>(A)), b(as<float>(B)), c(9 * count), d(9 * count);
    const float one = 1, zero = 0;
    EXPECT_EQ(cublasSgemmStridedBatched(handle, CUBLAS_OP_N, CUBLAS_OP_N, n, n, n, &one, a.data, n,
                                        9, b.data, n, 0, &zero, c.data, n, 9, count),
              CUBLAS_STATUS_SUCCESS);
    std::vector<float*> places_a, places_b, places_d;
    for (int i = 0; i < count; ++i) {
        places_a.push_back(a.data + i * 9);
        places_b.push_back(b.data);
        places_d.push_back(d.data + i * 9);
    }
    const Device<float*> pa(places_a), pb(places_b), pd(places_d);
    EXPECT_EQ(cublasSgemmBatched(handle, CUBLAS_OP_N, CUBLAS_OP_N, n, n, n, &one, pa.data, n,
                                 pb.data, n, &zero, pd.data, n, count),
              CUBLAS_STATUS_SUCCESS);
    std::vector<double> all;
    for (int i = 0; i < count; ++i) {
        const std::vector<double> part(A.begin() + i * 9, A.begin() + i * 9 + 9);
        const auto one_of_them = expected(CUBLAS_OP_N, CUBLAS_OP_N, n, n, n, 1, part, n, B, n, 0,
                                          std::vector<double>(9), n);
        all.insert(all.end(), one_of_them.begin(), one_of_them.end());
    }
    EXPECT_EQ(back(c), all);
    EXPECT_EQ(back(d), all);
    expect_silence();
}

TEST_F(Cublas, MatrixTimesVector) {
    const int m = 6, n = 4;
    const auto A = small_integers(m * n, 1), x = small_integers(2 * m, 2),
               y = small_integers(3 * m, 3);
    for (const auto op : {CUBLAS_OP_N, CUBLAS_OP_T}) {
        const int rows = op == CUBLAS_OP_N ? m : n, columns = op == CUBLAS_OP_N ? n : m;
        const Device<float> a(as<float>(A)), b(as<float>(x)), c(as<float>(y));
        const float alpha = 2, beta = 3;
        EXPECT_EQ(cublasSgemv(handle, op, m, n, &alpha, a.data, m, b.data, 2, &beta, c.data, 3),
                  CUBLAS_STATUS_SUCCESS);
        auto right = y;
        for (int i = 0; i < rows; ++i) {
            double sum = 0;
            for (int j = 0; j < columns; ++j) sum += element(A, m, op, i, j) * x[2 * j];
            right[3 * i] = 2 * sum + 3 * y[3 * i];
        }
        EXPECT_EQ(back(c), right);
    }
    expect_silence();
}

// With alpha = 0, A and B are not read; with beta = 0, C is not. Source: cuBLAS's documentation.
TEST_F(Cublas, WhatIsNotRead) {
    const Device<float> a(4, 1.0f), nan(4), c(4, 2.0f);
    const float zero = 0, one = 1;
    cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, 2, 2, 2, &one, a.data, 2, a.data, 2, &zero,
                nan.data, 2);
    EXPECT_EQ(back(nan), std::vector<double>(4, 2));
    cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, 2, 2, 2, &zero, nullptr, 2, nullptr, 2, &one,
                c.data, 2);
    EXPECT_EQ(back(c), std::vector<double>(4, 2));
    expect_silence();
}

TEST_F(Cublas, ScalarsOfTheDevice) {
    const Device<float> a(4, 1.0f), c(4, 5.0f), alpha(1, 2.0f), beta(1, 3.0f);
    const auto multiply = [&] {
        return cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, 2, 2, 2, alpha.data, a.data, 2, a.data,
                           2, beta.data, c.data, 2);
    };
    EXPECT_EQ(multiply(), CUBLAS_STATUS_INVALID_VALUE);
    expect_some({"alpha lies in device memory..the pointer mode is the host's"});
    cublasSetPointerMode(handle, CUBLAS_POINTER_MODE_DEVICE);
    EXPECT_EQ(multiply(), CUBLAS_STATUS_SUCCESS);
    EXPECT_EQ(back(c), std::vector<double>(4, 2 * 2 + 3 * 5));
    expect_silence();
}

TEST_F(Cublas, Mistakes) {
    const float one = 1;
    float* const d = floats.data;
    const auto gemm = [&](cublasOperation_t op, int m, int n, int k, int lda, int ldb, int ldc) {
        return cublasSgemm(handle, op, CUBLAS_OP_N, m, n, k, &one, d, lda, d, ldb, &one, d, ldc);
    };
    EXPECT_EQ(gemm(CUBLAS_OP_N, 4, 3, 5, 3, 5, 4), CUBLAS_STATUS_INVALID_VALUE);
    expect_some({"CUBLAS_STATUS_INVALID_VALUE: lda is 3, but A has 4 rows..column-major..swap"});
    EXPECT_EQ(gemm(CUBLAS_OP_T, 4, 3, 5, 4, 5, 4), CUBLAS_STATUS_INVALID_VALUE);
    expect_some({"lda is 4, but A has 5 rows"});
    EXPECT_EQ(gemm(CUBLAS_OP_N, 4, 3, 5, 4, 4, 4), CUBLAS_STATUS_INVALID_VALUE);
    expect_some({"ldb is 4, but B has 5 rows"});
    EXPECT_EQ(gemm(CUBLAS_OP_N, 4, 3, 5, 4, 5, 3), CUBLAS_STATUS_INVALID_VALUE);
    expect_some({"ldc is 3, but C has 4 rows"});
    EXPECT_EQ(gemm(CUBLAS_OP_N, 1, 3, 5, 1, 5, 0), CUBLAS_STATUS_INVALID_VALUE);
    expect_some({"ldc is 0, but C has 1 rows"});
    EXPECT_EQ(cublasSgemv(handle, CUBLAS_OP_N, 4, 3, &one, d, 4, d, 0, &one, d, 1),
              CUBLAS_STATUS_INVALID_VALUE);
    expect_some({"incx is 0"});
    EXPECT_EQ(gemm(CUBLAS_OP_N, -4, 3, 5, 4, 5, 4), CUBLAS_STATUS_INVALID_VALUE);
    expect_some({"m is -4"});
    EXPECT_EQ(gemm(CUBLAS_OP_N, 4, 3, 50, 4, 50, 4), CUBLAS_STATUS_EXECUTION_FAILED);
    expect_failure(
        {"out of bounds: cublasSgemm at ..reads A (4 x 50, lda 4), 800 bytes..768 bytes"},
        cudaErrorIllegalAddress);
    cublasHandle_t none = nullptr;
    EXPECT_EQ(cublasSgemm(none, CUBLAS_OP_N, CUBLAS_OP_N, 1, 1, 1, &one, d, 1, d, 1, &one, d, 1),
              CUBLAS_STATUS_NOT_INITIALIZED);
    expect_some({"CUBLAS_STATUS_NOT_INITIALIZED"});
    EXPECT_EQ(cublasSetStream(none, nullptr), CUBLAS_STATUS_NOT_INITIALIZED);
}

TEST_F(Cublas, UnwrittenMatrices) {
    const Device<float> a(64), c(64), d(64);
    cudaMemset(a.data, 0, 56 * sizeof(float));
    const float one = 1, zero = 0;
    const auto multiply = [&](int rows, const float* beta, float* C) {
        cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, rows, 8, 7, &one, a.data, 8, a.data, 8, beta,
                    C, 8);
    };
    multiply(8, &zero, c.data);
    expect_some(
        {"uninitialised device memory: cublasSgemm at ..reads B (7 x 8, ldb 8), of which "
         "nothing has written 28 of 224 bytes"});
    cudaMemset(a.data, 0, 64 * sizeof(float));
    multiply(5, &zero, d.data);
    multiply(5, &one, d.data);  // what lies between the columns is not read
    expect_silence();
    multiply(6, &one, d.data);
    expect_some({"reads C (6 x 8, ldc 8), of which nothing has written 32 of 192 bytes"});
}

__global__ void fill(float* x) { x[threadIdx.x] = 1; }  // @fill

// A product in a stream is ordered as a kernel's launch would be.
TEST_F(Cublas, Streams) {
    cudaStream_t one, other;
    cudaStreamCreate(&one);
    cudaStreamCreate(&other);
    const Device<float> a(64), c(64);
    const float alpha = 1, beta = 0;
    cublasSetStream(handle, other);
    for (const bool waits : {true, false}) {
        fill<<<1, 64, 0, one>>>(a.data);
        if (waits) cudaStreamSynchronize(one);
        cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, 8, 8, 8, &alpha, a.data, 8, a.data, 8, &beta,
                    c.data, 8);
        cudaDeviceSynchronize();
        if (waits) expect_silence();
        else expect_problem({"race between streams: the cublasSgemm at ..reads what @fill writes"});
    }
    EXPECT_EQ(back(c), std::vector<double>(64, 8));
    cudaStreamDestroy(one);
    cudaStreamDestroy(other);
}

// Columns of one matrix that two streams compute do not overlap, although one lies between the
// others.
TEST_F(Cublas, RowsOfOneMatrixInTwoStreams) {
    cudaStream_t streams[2];
    const Device<float> a(64, 1.0f), c(64);
    const float alpha = 1, beta = 0;
    for (int half : {0, 1}) {
        cudaStreamCreate(&streams[half]);
        cublasSetStream(handle, streams[half]);
        cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, 4, 8, 8, &alpha, a.data + 4 * half, 8, a.data,
                    8, &beta, c.data + 4 * half, 8);
    }
    expect_silence();
    cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, 4, 8, 8, &alpha, a.data, 8, a.data, 8, &beta,
                c.data + 3, 8);
    expect_some({"race between streams"});
    cudaDeviceSynchronize();
    for (cudaStream_t stream : streams) cudaStreamDestroy(stream);
}

TEST_F(Cublas, InAGraph) {
    cudaStream_t stream;
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    cudaStreamCreate(&stream);
    cublasSetStream(handle, stream);
    const Device<float> a(4, 1.0f), c(4, 0.0f);
    cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal);
    {
        const float one = 1;  // alpha and beta are read when the call is captured
        cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, 2, 2, 2, &one, a.data, 2, a.data, 2, &one,
                    c.data, 2);
    }
    cudaStreamEndCapture(stream, &graph);
    EXPECT_EQ(back(c), std::vector<double>(4, 0));
    cudaGraphInstantiate(&exec, graph);
    for (int launch = 0; launch < 2; ++launch) cudaGraphLaunch(exec, stream);
    cudaStreamSynchronize(stream);
    EXPECT_EQ(back(c), std::vector<double>(4, 4));
    cudaGraphExecDestroy(exec);
    cudaGraphDestroy(graph);
    cudaStreamDestroy(stream);
    expect_silence();
}

TEST_F(Cublas, CopiesOfMatrices) {
    const auto A = as<float>(small_integers(12, 1));
    const Device<float> a(20, 0.0f);
    std::vector<float> again(12);
    EXPECT_EQ(cublasSetMatrix(4, 3, sizeof(float), A.data(), 4, a.data, 5), CUBLAS_STATUS_SUCCESS);
    EXPECT_EQ(a.host()[5], A[4]);
    EXPECT_EQ(cublasGetMatrix(4, 3, sizeof(float), a.data, 5, again.data(), 4),
              CUBLAS_STATUS_SUCCESS);
    EXPECT_EQ(again, A);
    EXPECT_EQ(cublasSetVector(6, sizeof(float), A.data(), 2, a.data, 1), CUBLAS_STATUS_SUCCESS);
    EXPECT_EQ(a.host()[1], A[2]);
}

// ---- cuBLASLt ----

// Row-major matrices are multiplied as they are, and D may have another order than A, B and C.
TEST_F(Cublas, LtOrders) {
    const int m = 7, n = 5, k = 9;
    cublasLtHandle_t lt;
    cublasLtCreate(&lt);
    const auto A = small_integers(m * k, 1), B = small_integers(k * n, 2);
    for (const bool by_rows : {false, true}) {
        const cublasLtOrder_t order = by_rows ? CUBLASLT_ORDER_ROW : CUBLASLT_ORDER_COL;
        cublasLtMatmulDesc_t matmul;
        cublasLtMatrixLayout_t a_layout, b_layout, c_layout, d_layout;
        cublasLtMatmulPreference_t preference;
        cublasLtMatmulDescCreate(&matmul, CUBLAS_COMPUTE_32F, CUDA_R_32F);
        cublasLtMatrixLayoutCreate(&a_layout, CUDA_R_16F, m, k, by_rows ? k : m);
        cublasLtMatrixLayoutCreate(&b_layout, CUDA_R_16F, k, n, by_rows ? n : k);
        cublasLtMatrixLayoutCreate(&c_layout, CUDA_R_32F, m, n, by_rows ? n : m);
        cublasLtMatrixLayoutCreate(&d_layout, CUDA_R_32F, m, n, m);
        for (const auto layout : {a_layout, b_layout, c_layout})
            cublasLtMatrixLayoutSetAttribute(layout, CUBLASLT_MATRIX_LAYOUT_ORDER, &order,
                                             sizeof order);
        cublasLtMatmulPreferenceCreate(&preference);
        cublasLtMatmulHeuristicResult_t found[3];
        int count = 0;
        EXPECT_EQ(cublasLtMatmulAlgoGetHeuristic(lt, matmul, a_layout, b_layout, c_layout, d_layout,
                                                 preference, 3, found, &count),
                  CUBLAS_STATUS_SUCCESS);
        ASSERT_EQ(count, 1);
        EXPECT_EQ(found[0].state, CUBLAS_STATUS_SUCCESS);
        const Device<half> a(as<half>(A)), b(as<half>(B));
        const Device<float> c(m * n, 1.0f), d(m * n);
        const float alpha = 2, beta = 3;
        EXPECT_EQ(
            cublasLtMatmul(lt, matmul, &alpha, a.data, a_layout, b.data, b_layout, &beta, c.data,
                           c_layout, d.data, d_layout, &found[0].algo, nullptr, 0, nullptr),
            CUBLAS_STATUS_SUCCESS);
        const auto op = by_rows ? CUBLAS_OP_T : CUBLAS_OP_N;  // row-major: the transpose's columns
        EXPECT_EQ(back(d), expected(op, op, m, n, k, 2, A, by_rows ? k : m, B, by_rows ? n : k, 3,
                                    std::vector<double>(m * n, 1), m));
        const int64_t ld = by_rows ? k - 1 : m - 1;
        cublasLtMatrixLayoutSetAttribute(a_layout, CUBLASLT_MATRIX_LAYOUT_LD, &ld, sizeof ld);
        EXPECT_EQ(cublasLtMatmul(lt, matmul, &alpha, a.data, a_layout, b.data, b_layout, &beta,
                                 c.data, c_layout, d.data, d_layout, nullptr, nullptr, 0, nullptr),
                  CUBLAS_STATUS_INVALID_VALUE);
        expect_some({by_rows ? "lda is 8, but A has 9 columns" : "lda is 6, but A has 7 rows"});
        EXPECT_EQ(cublasLtMatmul(lt, matmul, &alpha, b.data, b_layout, b.data, b_layout, &beta,
                                 c.data, c_layout, d.data, d_layout, nullptr, nullptr, 0, nullptr),
                  CUBLAS_STATUS_INVALID_VALUE);
        expect_some({"do not go together: A is 9 x 5, B is 9 x 5, C is 7 x 5"});
        cublasLtMatmulPreferenceDestroy(preference);
        for (const auto layout : {a_layout, b_layout, c_layout, d_layout})
            cublasLtMatrixLayoutDestroy(layout);
        cublasLtMatmulDescDestroy(matmul);
    }
    cublasLtDestroy(lt);
    expect_silence();
}

TEST_F(Cublas, LtEpilogueAndTransposes) {
    const int m = 3, n = 2, k = 2;
    const Device<float> a(std::vector<float>{1, 0, 0, 1, 1, 1}),  // k x m
        b(std::vector<float>{1, 2, -3, -4}), bias(std::vector<float>{1, 2, 3}), d(m * n);
    cublasLtMatmulDescOpaque_t matmul;
    cublasLtMatrixLayoutOpaque_t a_layout, b_layout, d_layout;
    cublasLtMatmulDescInit(&matmul, CUBLAS_COMPUTE_32F, CUDA_R_32F);
    cublasLtMatrixLayoutInit(&a_layout, CUDA_R_32F, k, m, k);
    cublasLtMatrixLayoutInit(&b_layout, CUDA_R_32F, k, n, k);
    cublasLtMatrixLayoutInit(&d_layout, CUDA_R_32F, m, n, m);
    const cublasOperation_t transposed = CUBLAS_OP_T;
    const auto set = [&](cublasLtMatmulDescAttributes_t attribute, auto value) {
        return cublasLtMatmulDescSetAttribute(&matmul, attribute, &value, sizeof value);
    };
    EXPECT_EQ(set(CUBLASLT_MATMUL_DESC_TRANSA, transposed), CUBLAS_STATUS_SUCCESS);
    EXPECT_EQ(set(CUBLASLT_MATMUL_DESC_EPILOGUE, CUBLASLT_EPILOGUE_RELU_BIAS),
              CUBLAS_STATUS_SUCCESS);
    EXPECT_EQ(set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, bias.data), CUBLAS_STATUS_SUCCESS);
    EXPECT_EQ(set(CUBLASLT_MATMUL_DESC_TRANSB, 'N'), CUBLAS_STATUS_INVALID_VALUE);
    expect_some({"cublasLtMatmulDescSetAttribute..the attribute has 4 bytes, not 1"});
    // As a cublasLtHandle_t a cuBLAS handle does, too.
    const float one = 1, zero = 0;
    EXPECT_EQ(cublasLtMatmul(reinterpret_cast<cublasLtHandle_t>(handle), &matmul, &one, a.data,
                             &a_layout, b.data, &b_layout, &zero, d.data, &d_layout, d.data,
                             &d_layout, nullptr, nullptr, 0, nullptr),
              CUBLAS_STATUS_SUCCESS);
    EXPECT_EQ(back(d), (std::vector<double>{1 + 1, 2 + 2, 3 + 3, 0, 0, 0}));
    expect_silence();
}

// Every size that leaves a rest of a tile of the product in registers.
TEST_F(Cublas, Sizes) {
    const float one = 1, zero = 0;
    for (int m = 1; m <= 9; ++m)
        for (int n = 1; n <= 9; ++n) {
            const int k = 1 + (m + n) % 4;
            const auto A = small_integers(m * k, m), B = small_integers(k * n, n);
            const Device<float> a(as<float>(A)), b(as<float>(B)), c(m * n);
            cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, m, n, k, &one, a.data, m, b.data, k,
                        &zero, c.data, m);
            EXPECT_EQ(back(c), expected(CUBLAS_OP_N, CUBLAS_OP_N, m, n, k, 1, A, m, B, k, 0,
                                        std::vector<double>(m * n), m));
        }
}

}  // namespace
