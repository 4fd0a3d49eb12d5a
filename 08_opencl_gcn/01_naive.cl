// 01_naive: one work-item computes one element of C, as the dot product of a row of A and a column of B.
// Adjacent work-items of dimension 0 take adjacent columns, so that a wavefront's loads of B are contiguous (coalesced).
//
//                B  K x N
//                . . | . .
//                . . | . .
//                . . v . .
//    A  M x K    C  M x N
//    . . . .     . . . . .
//    ------>     . . c . .        c = C[row][col] = sum over k of A[row][k] * B[k][col]
//    . . . .     . . . . .
//
// See also: 01_naive/matmul.cu; Fixstars slides 41 to 45 (slide 42 takes row and column as here, 44 swapped)

// The host pads M, N and K to whole tiles, so the kernel needs no guard.
kernel __attribute__((reqd_work_group_size(16, 16, 1)))
void matmul(int M, int N, int K, global const float* A, global const float* B, global float* C) {
    const int row = get_global_id(1);
    const int col = get_global_id(0);

    // size_t: a square matrix has more than 2^31 elements from 46341 rows on.
    float acc = 0.0f;
    for (int k = 0; k < K; ++k) {
        const float a = A[(size_t)row * K + k];
        const float b = B[(size_t)k * N + col];
        acc += a * b;
    }
    C[(size_t)row * N + col] = acc;
}
