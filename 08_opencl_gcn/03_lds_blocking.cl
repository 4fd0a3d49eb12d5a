// 03_lds_blocking: the 256 work-items of a work-group bring the operands of their 128 x 128 elements into local memory once.
// What 16 work-items loaded 16 times over now comes from global memory once: 2 flop per byte become 32.
//
//                    B  K x N
//                    . [== 128 ==] .     rows of B -> Bs
//    A  M x K        C  M x N
//    . | .           .  . . . . .  .
//    .128.           . [128 x 128] .     columns of A -> As
//    . | .           .  . . . . .  .
//
// Changed:  As and Bs, filled together at each k between two barriers; a work-item's 8 x 8 lie as four 4 x 4 (no bank conflicts).
// See also: 03_shared_blocking/matmul.cu; Fixstars slides 50 to 54

enum { kThreadM = 8 };  // rows of C per work-item
enum { kThreadN = 8 };  // columns of C per work-item
enum { kTileM = 16 * kThreadM };  // rows of C per work-group
enum { kTileN = 16 * kThreadN };  // columns of C per work-group

// The host pads M, N and K to whole tiles: no kernel here needs a guard.
kernel __attribute__((reqd_work_group_size(16, 16, 1)))
void matmul(int M, int N, int K, global const float* A, global const float* B, global float* C) {
    local float As[kTileM] __attribute__((aligned(16)));
    local float Bs[kTileN] __attribute__((aligned(16)));
    const int tile_row = get_group_id(1) * kTileM;
    const int tile_col = get_group_id(0) * kTileN;
    const uint item = get_local_id(1) * 16 + get_local_id(0);
    // A warp (half a wavefront) owns 32 x 64 elements, a lane 4 rows and 4 columns, and the same again 16 rows and 32 columns
    // further on. Lanes that differ in bit 0 read the same of A, in bit 1 the same of B.
    const int warp = item / 32, lane = item % 32;
    const int row = warp / 2 * 32 + lane / 2 % 4 * 4;
    const int col = warp % 2 * 64 + (lane / 8 * 2 + lane % 2) * 4;
    // Half of the work-items bring A, half bring B.
    const bool a_half = item < kTileM;
    global const float* from = a_half ? A + (size_t)(tile_row + item) * K : B + tile_col + item - kTileM;
    local float* to = a_half ? &As[item] : &Bs[item - kTileM];
    const int advance = a_half ? 1 : N;

    float acc[kThreadM][kThreadN] = {{0.0f}};
    for (int k = 0; k < K; ++k) {
        *to = *from;
        from += advance;
        barrier(CLK_LOCAL_MEM_FENCE);  // the tiles are complete

        float a[kThreadM], b[kThreadN];
        for (int i = 0; i < kThreadM; i += 4) vstore4(*(local const float4*)&As[row + i / 4 * 16], 0, &a[i]);
        for (int j = 0; j < kThreadN; j += 4) vstore4(*(local const float4*)&Bs[col + j / 4 * 32], 0, &b[j]);
        for (int i = 0; i < kThreadM; ++i)
            for (int j = 0; j < kThreadN; ++j) acc[i][j] += a[i] * b[j];
        barrier(CLK_LOCAL_MEM_FENCE);  // the tiles may be overwritten
    }

    for (int i = 0; i < kThreadM; ++i)
        for (int j = 0; j < kThreadN; j += 4) {
            const int c_row = tile_row + row + i / 4 * 16 + i % 4, c_col = tile_col + col + j / 4 * 32;
            *(global float4*)&C[(size_t)c_row * N + c_col] = vload4(0, &acc[i][j]);
        }
}
