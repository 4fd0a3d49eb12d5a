// 03_lds_blocking: the 256 work-items of a work-group load the operands of their 128 x 128 elements into local memory together.
// Each element comes from global memory once instead of 16 times: 32 flop per byte instead of 2.
//
//                    B  K x N
//                    . [== 128 ==] .     a row of B's tile -> Bs
//    A  M x K        C  M x N
//    . | .           .  . . . . .  .
//    .128.           . [128 x 128] .     a column of A's tile -> As
//    . | .           .  . . . . .  .
//
// Changed:  a work-group fills As and Bs at each k, between barriers; its work-items read a and b there.
// See also: 03_shared_blocking/matmul.cu; Fixstars slides 50 to 54

enum { kThreadM = 8 };  // rows of C per work-item
enum { kThreadN = 8 };  // columns of C per work-item
enum { kTileM = 16 * kThreadM };  // rows of C per work-group
enum { kTileN = 16 * kThreadN };  // columns of C per work-group

// The host pads M, N and K to whole tiles, so the kernel needs no guard.
kernel __attribute__((reqd_work_group_size(16, 16, 1)))
void matmul(int M, int N, int K, global const float* A, global const float* B, global float* C) {
    local float As[kTileM];
    local float Bs[kTileN];
    const int tile_row = get_group_id(1) * kTileM;
    const int tile_col = get_group_id(0) * kTileN;
    const uint item = get_local_id(1) * 16 + get_local_id(0);
    const int row = item / 16 * kThreadM;  // within the tile
    const int col = item % 16 * kThreadN;

    float acc[kThreadM][kThreadN] = {{0.0f}};
    for (int k = 0; k < K; ++k) {
        const int a_row = item, b_col = item - kTileM;
        if (a_row < kTileM) {
            As[a_row] = A[(size_t)(tile_row + a_row) * K + k];
        } else {
            Bs[b_col] = B[(size_t)k * N + tile_col + b_col];
        }
        barrier(CLK_LOCAL_MEM_FENCE);  // the tiles are complete

        float a[kThreadM], b[kThreadN];
        for (int i = 0; i < kThreadM; ++i) a[i] = As[row + i];
        for (int j = 0; j < kThreadN; ++j) b[j] = Bs[col + j];
        for (int i = 0; i < kThreadM; ++i)
            for (int j = 0; j < kThreadN; ++j) acc[i][j] += a[i] * b[j];
        barrier(CLK_LOCAL_MEM_FENCE);  // the tiles may be overwritten
    }

    for (int i = 0; i < kThreadM; ++i)
        for (int j = 0; j < kThreadN; ++j)
            C[(size_t)(tile_row + row + i) * N + tile_col + col + j] = acc[i][j];
}
