// Slide 48, corrected: a work-item computes 2 x 2 elements. No guard: M and N must be even.
kernel void matmul(global const float* A, global const float* B, global float* C, int M, int N, int K) {
    const int i0 = get_global_id(1) * 2, i1 = i0 + 1;
    const int j0 = get_global_id(0) * 2, j1 = j0 + 1;
    float sum[2][2] = {{0.0f}};
    for (int k = 0; k < K; ++k) {
        const float a0 = A[i0 * K + k], b0 = B[k * N + j0];
        const float a1 = A[i1 * K + k], b1 = B[k * N + j1];
        sum[0][0] += a0 * b0;
        sum[0][1] += a0 * b1;
        sum[1][0] += a1 * b0;
        sum[1][1] += a1 * b1;
    }
    C[i0 * N + j0] = sum[0][0];
    C[i0 * N + j1] = sum[0][1];
    C[i1 * N + j0] = sum[1][0];
    C[i1 * N + j1] = sum[1][1];
}
