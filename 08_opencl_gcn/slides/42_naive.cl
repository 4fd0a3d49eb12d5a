// Slide 42: a work-item does what the two outer loops of slide 41 have inside. The guard is for sizes that 16 does not divide.
kernel void matmul(global const float* A, global const float* B, global float* C, int M, int N, int K) {
    const int i = get_global_id(1);
    const int j = get_global_id(0);
    if (i >= M || j >= N) return;
    float sum = 0.0f;
    for (int k = 0; k < K; ++k) sum += A[i * K + k] * B[k * N + j];
    C[i * N + j] = sum;
}
