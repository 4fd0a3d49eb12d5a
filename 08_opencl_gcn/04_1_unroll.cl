// 04_1_unroll: a k-tile has eight values of k instead of one. A work-item then does 512 multiply-adds between two barriers instead
// of 64, and the compiler unrolls them. The work-group loads as many bytes as in 03.
//
//                    B  K x N
//                    8 [== 128 ==] .     8 rows of B's tile -> Bs
//    A  M x K        C  M x N
//    . | .           .  . . . . .  .
//    .128.           . [128 x 128] .     8 columns of A's tile -> As, transposed: As[k][row]
//    . | .           .  . . . . .  .
//
// Changed:  a k-tile has eight values of k, for which a work-item loads 4 elements of A and 4 of B; #pragma unroll.
// See also: 04_unroll/1_unroll.cu; Fixstars slides 54 to 56

enum { kThreadM = 8 };  // rows of C per work-item
enum { kThreadN = 8 };  // columns of C per work-item
enum { kTileM = 16 * kThreadM };  // rows of C per work-group
enum { kTileN = 16 * kThreadN };  // columns of C per work-group
enum { kTileK = 8 };  // extent of the tiles along k

// The host pads M, N and K to whole tiles, so the kernel needs no guard.
kernel __attribute__((reqd_work_group_size(16, 16, 1)))
void matmul(int M, int N, int K, global const float* A, global const float* B, global float* C) {
    local float As[kTileK][kTileM];
    local float Bs[kTileK][kTileN];
    const int tile_row = get_group_id(1) * kTileM;
    const int tile_col = get_group_id(0) * kTileN;
    const uint item = get_local_id(1) * 16 + get_local_id(0);
    const int row = item / 16 * kThreadM;  // within the tile
    const int col = item % 16 * kThreadN;
    // For each k-tile this work-item loads four adjacent elements of a row of A, and four of a row of B.
    const int a_row = item / 2, a_k = item % 2 * 4;
    const int b_k = item / 32, b_col = item % 32 * 4;

    float acc[kThreadM][kThreadN] = {{0.0f}};
    for (int k = 0; k < K; k += kTileK) {
        for (int e = 0; e < 4; ++e) {
            As[a_k + e][a_row] = A[(size_t)(tile_row + a_row) * K + k + a_k + e];
            Bs[b_k][b_col + e] = B[(size_t)(k + b_k) * N + tile_col + b_col + e];
        }
        barrier(CLK_LOCAL_MEM_FENCE);  // the tiles are complete

#pragma unroll
        for (int s = 0; s < kTileK; ++s) {
            float a[kThreadM], b[kThreadN];
            for (int i = 0; i < kThreadM; ++i) a[i] = As[s][row + i];
            for (int j = 0; j < kThreadN; ++j) b[j] = Bs[s][col + j];
            for (int i = 0; i < kThreadM; ++i)
                for (int j = 0; j < kThreadN; ++j) acc[i][j] += a[i] * b[j];
        }
        barrier(CLK_LOCAL_MEM_FENCE);  // the tiles may be overwritten
    }

    for (int i = 0; i < kThreadM; ++i)
        for (int j = 0; j < kThreadN; ++j)
            C[(size_t)(tile_row + row + i) * N + tile_col + col + j] = acc[i][j];
}
