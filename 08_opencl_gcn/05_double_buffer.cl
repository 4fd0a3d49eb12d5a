// 05_double_buffer: the tiles are fetched one k-tile before they are multiplied. There are two sets of tiles. While one set is
// multiplied, the next tiles go from global memory into registers, and from there into the other set.
//
//    multiply   0 1 2 3 4 5 6 7      | 0 1 2 3 4 5 6 7      |       8 k-blocks per k-tile, from buffer 0, then from buffer 1
//    load       T1                   | T2                   |       global memory -> registers
//    store                        T1 |                   T2 |       registers -> the other buffer
//    barrier                         |                      |       once per k-tile: T1 is complete, T0 has been read
//
//    T0, T1, T2 are the first, second and third k-tile.
//
// Changed:  As and Bs exist twice; loads a k-tile ahead, stores after the k-blocks; one barrier a k-tile.
// See also: 05_double_buffer/matmul.cu; Fixstars slides 50 and 57 to 59 (slide 57 shows no barrier and reads a tile past K)

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
    local float As[2][kTileK][kTileM + kPad] __attribute__((aligned(16)));
    local float Bs[2][kTileK][kTileN] __attribute__((aligned(16)));
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

    float4 a_next = *(global const float4*)a_from;
    float4 b_next = *(global const float4*)b_from;
    store_tiles(As[0], a_row, a_k, a_next, Bs[0], b_k, b_col, b_next);
    barrier(CLK_LOCAL_MEM_FENCE);  // the first tiles are complete

    float acc[kThreadM][kThreadN] = {{0.0f}};
#ifdef cl_nv_pragma_unroll
#pragma unroll 2  // two k-tiles per iteration, so that NVIDIA's compiler knows the buffers' addresses
#endif
    for (int k = 0, buffer = 0; k < K; k += kTileK, buffer ^= 1) {
        // Reads nothing past K. The condition is the same for all work-items, so GCN makes it a scalar branch.
        if (k + kTileK < K) {
            a_from += kTileK;
            b_from += (size_t)kTileK * N;
            a_next = *(global const float4*)a_from;
            b_next = *(global const float4*)b_from;
        }

#pragma unroll
        for (int s = 0; s < kTileK; ++s) {
            float a[kThreadM], b[kThreadN];
            for (int i = 0; i < kThreadM; i += 4) vstore4(*(local const float4*)&As[buffer][s][row + i / 4 * 16], 0, &a[i]);
            for (int j = 0; j < kThreadN; j += 4) vstore4(*(local const float4*)&Bs[buffer][s][col + j / 4 * 32], 0, &b[j]);
            // Serpentine order: consecutive multiply-adds share an operand, which NVIDIA's GPUs then fetch only once.
            for (int i = 0; i < kThreadM; ++i)
                for (int at = 0; at < kThreadN; ++at) {
                    const int j = i % 2 ? kThreadN - 1 - at : at;
                    acc[i][j] += a[i] * b[j];
                }
        }
        store_tiles(As[buffer ^ 1], a_row, a_k, a_next, Bs[buffer ^ 1], b_k, b_col, b_next);
        barrier(CLK_LOCAL_MEM_FENCE);  // the next tiles are complete, and all warps have read these
    }

    for (int i = 0; i < kThreadM; ++i)
        for (int j = 0; j < kThreadN; j += 4) {
            const int c_row = tile_row + row + i / 4 * 16 + i % 4, c_col = tile_col + col + j / 4 * 32;
            *(global float4*)&C[(size_t)c_row * N + c_col] = vload4(0, &acc[i][j]);
        }
}
