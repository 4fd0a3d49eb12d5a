// Slide 41, the sequential code: C = A * B. No element of C needs another one, so the loops over i
// and j can run in parallel. The iterations of the loop over k add to the same sum.
#pragma once

inline void matmul(const float* A, const float* B, float* C, int M, int N, int K) {
    for (int i = 0; i < M; ++i)
        for (int j = 0; j < N; ++j) {
            float sum = 0.0f;
            for (int k = 0; k < K; ++k) sum += A[i * K + k] * B[k * N + j];
            C[i * N + j] = sum;
        }
}
