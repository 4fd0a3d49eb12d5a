// 04_unroll: the same bytes in fewer passes through local memory: a pad and another arrangement of the work-items keep its
// banks free of conflicts. The multiply-adds follow a serpentine order, so that each shares an operand with the one before.
//
//                    B  K x N
//                    8 [== 128 ==] .     8 rows of B's tile -> Bs
//    A  M x K        C  M x N
//    . | .           .  . . . . .  .
//    .128.           . [128 x 128] .     8 columns of A's tile -> As, transposed: As[k][row]
//    . | .           .  . . . . .  .
//
// Changed:  As is padded; four 4 x 4 sub-tiles per work-item, in another arrangement; multiply-adds in serpentine order.
// See also: 04_unroll/matmul.cu; Fixstars slides 54 to 56 (slide 55 declares ab[4][4] where 8 x 8 are used)

enum { kThreadM = 8 };  // rows of C per work-item
enum { kThreadN = 8 };  // columns of C per work-item
enum { kTileM = 16 * kThreadM };  // rows of C per work-group
enum { kTileN = 16 * kThreadN };  // columns of C per work-group
enum { kTileK = 8 };  // extent of the tiles along k
enum { kPad = 4 };  // keeps even and odd lanes of the transposing store 16 banks apart

// Stores four elements of A, from (a_row, a_k) on along k, and four of B, from (b_k, b_col) on along n, into their tiles.
void store_tiles(local float (*As)[kTileM + kPad], int a_row, int a_k, float4 a_next,
                 local float (*Bs)[kTileN], int b_k, int b_col, float4 b_next) {
    As[a_k + 0][a_row] = a_next.x;
    As[a_k + 1][a_row] = a_next.y;
    As[a_k + 2][a_row] = a_next.z;
    As[a_k + 3][a_row] = a_next.w;
    *(local float4*)&Bs[b_k][b_col] = b_next;
}

// The host pads M, N and K to whole tiles, so the kernel needs no guard.
kernel __attribute__((reqd_work_group_size(16, 16, 1)))
void matmul(int M, int N, int K, global const float* A, global const float* B, global float* C) {
    local float As[kTileK][kTileM + kPad] __attribute__((aligned(16)));
    local float Bs[kTileK][kTileN] __attribute__((aligned(16)));
    const int tile_row = get_group_id(1) * kTileM;
    const int tile_col = get_group_id(0) * kTileN;
    const uint item = get_local_id(1) * 16 + get_local_id(0);
    // The tile of a warp (half of GCN's wavefront) is 32 x 64; a lane owns four 4 x 4 sub-tiles, 16 rows and 32 columns apart. Lanes
    // that differ only in bit 0 read the same 16 bytes of As, those that differ only in bit 1 the same of Bs.
    const int warp = item / 32, lane = item % 32;
    const int row = warp / 2 * 32 + lane / 2 % 4 * 4;
    const int col = warp % 2 * 64 + (lane / 8 * 2 + lane % 2) * 4;
    // For each k-tile this work-item loads four adjacent elements of a row of A, and four of a row of B.
    const int a_row = item / 2, a_k = item % 2 * 4;
    const int b_k = item / 32, b_col = item % 32 * 4;
    global const float* a_from = A + (size_t)(tile_row + a_row) * K + a_k;
    global const float* b_from = B + (size_t)b_k * N + tile_col + b_col;

    float acc[kThreadM][kThreadN] = {{0.0f}};
    for (int k = 0; k < K; k += kTileK) {
        const float4 a_next = *(global const float4*)a_from;
        const float4 b_next = *(global const float4*)b_from;
        a_from += kTileK;
        b_from += (size_t)kTileK * N;
        store_tiles(As, a_row, a_k, a_next, Bs, b_k, b_col, b_next);
        barrier(CLK_LOCAL_MEM_FENCE);  // the tiles are complete

#pragma unroll
        for (int s = 0; s < kTileK; ++s) {
            float a[kThreadM], b[kThreadN];
            for (int i = 0; i < kThreadM; i += 4) vstore4(*(local const float4*)&As[s][row + i / 4 * 16], 0, &a[i]);
            for (int j = 0; j < kThreadN; j += 4) vstore4(*(local const float4*)&Bs[s][col + j / 4 * 32], 0, &b[j]);
            // Serpentine order: consecutive multiply-adds share an operand, which NVIDIA's GPUs then fetch only once.
            for (int i = 0; i < kThreadM; ++i)
                for (int at = 0; at < kThreadN; ++at) {
                    const int j = i % 2 ? kThreadN - 1 - at : at;
                    acc[i][j] += a[i] * b[j];
                }
        }
        barrier(CLK_LOCAL_MEM_FENCE);  // the tiles may be overwritten
    }

    for (int i = 0; i < kThreadM; ++i)
        for (int j = 0; j < kThreadN; j += 4) {
            const int c_row = tile_row + row + i / 4 * 16 + i % 4, c_col = tile_col + col + j / 4 * 32;
            *(global float4*)&C[(size_t)c_row * N + c_col] = vload4(0, &acc[i][j]);
        }
}
