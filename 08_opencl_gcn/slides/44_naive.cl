// Slide 44: slide 42 once more, with the two dimensions swapped. It is correct, too, but adjacent work-items now read different
// rows of A.
kernel void matmul(global const float* A, global const float* B, global float* C, int M, int N, int K) {
    const int i = get_global_id(0);
    const int j = get_global_id(1);
    if (i >= M || j >= N) return;
    float sum = 0.0f;
    for (int k = 0; k < K; ++k) sum += A[i * K + k] * B[k * N + j];
    C[i * N + j] = sum;
}
