// 02_register_blocking: one work-item computes 8 x 8 elements of C, with accumulators in registers.
// Eight elements of A and eight of B now feed 64 multiply-adds instead of 8: 2 flop per byte instead of a quarter.
//
// Changed:  a work-item computes 8 x 8 elements of C, and a work-group of 16 x 16 work-items 128 x 128.
// See also: 02_register_blocking/matmul.cu; Fixstars slides 46 to 49 (their 2 x 2 code has a0 * a0 where it means a0 * b0)

enum { kThreadM = 8 };  // rows of C per work-item
enum { kThreadN = 8 };  // columns of C per work-item

// The host pads M, N and K to whole tiles, so the kernel needs no guard.
kernel __attribute__((reqd_work_group_size(16, 16, 1)))
void matmul(int M, int N, int K, global const float* A, global const float* B, global float* C) {
    const int row = get_global_id(1) * kThreadM;
    const int col = get_global_id(0) * kThreadN;

    float acc[kThreadM][kThreadN] = {{0.0f}};
    for (int k = 0; k < K; ++k) {
        float a[kThreadM], b[kThreadN];
        for (int i = 0; i < kThreadM; ++i) a[i] = A[(size_t)(row + i) * K + k];
        for (int j = 0; j < kThreadN; ++j) b[j] = B[(size_t)k * N + col + j];
        for (int i = 0; i < kThreadM; ++i)
            for (int j = 0; j < kThreadN; ++j) acc[i][j] += a[i] * b[j];
    }

    for (int i = 0; i < kThreadM; ++i)
        for (int j = 0; j < kThreadN; ++j) C[(size_t)(row + i) * N + col + j] = acc[i][j];
}
