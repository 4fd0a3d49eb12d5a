// The pipeline of 12_clusters/matmul.cu as classes, for 13_stream_k: TMA loads k-tiles into stages,
// for all CTAs that share an operand, and wgmma multiplies them. Four things are new. Only some
// CTAs of a cluster may load for each other, those from rank `first` on. A CTA may have none of a
// tile's k-tiles. What consumers do while wgmma runs is a function, `overlapped`. And the producer
// may be a whole warp, of which one lane issues the loads.
#pragma once

#include <algorithm>

#include "common/ptx/hopper.cuh"
#include "common/stage.h"
#include "common/unaligned_rows.cuh"

constexpr int kTileK = 64;  // extent of the tiles along k: a row of As is 128 bytes

// A tile of kM x kN, for the CTA that computes it. kTransposed: it computes C^T = B^T A^T. Of
// kClusterM x kClusterN CTAs, those side by side load a slice of A each for all of them, those one
// below the other a slice of B. kRealigned: B's rows do not start on multiples of 16 bytes, and
// consumers realign them. kAlongM, kAlongN, kSwapped and kRealignsB are the parameters of the
// template, for code that knows only its type.
template <int kM, int kN, bool kTransposed, int kClusterM, int kClusterN, bool kRealigned = false>
struct CtaTile {
    static_assert(kM / kClusterN % 8 == 0, "a slice of A is whole repeats of the swizzle");
    static_assert(!kRealigned || (kTransposed && kClusterM == 1),
                  "a warpgroup realigns its own 64 columns of B, which no other CTA loads");
    static constexpr int kTileM = kM, kTileN = kN, kAlongM = kClusterM, kAlongN = kClusterN;
    static constexpr bool kSwapped = kTransposed, kRealignsB = kRealigned;
    static constexpr int kMulticastCtas = kClusterM * kClusterN;  // that load for each other
    static constexpr int kSharers = kClusterM + kClusterN - 1;  // CTAs that load for this one
    static constexpr int kParts = kN / 64;  // a tile of B is loaded in boxes of 64 columns
    static constexpr int kWarpgroups = kTransposed ? kParts : kM / 64;
    static constexpr int kConsumers = 128 * kWarpgroups;  // consumer threads
    // The producer is one more thread or warp, in a warpgroup of its own for setmaxnreg, which a whole
    // warpgroup executes. A single consumer warpgroup can have 255 registers per thread without it.
    static constexpr int kThreads = kConsumers + (kWarpgroups == 1 ? 32 : 128);
    // Accumulators of a warp: fragments of 16 x 8 elements of C, or of C^T.
    static constexpr int kFragments = (kTransposed ? kM : kN) / 8;
};

template <class Tile, int kStages>
class Pipeline {
public:
    // Each tile begins at a multiple of 1024 bytes, the period of the swizzle pattern. So does what
    // follows a Memory, whose size is a multiple, too.
    struct alignas(1024) Memory {
        half As[kStages][Tile::kTileM][kTileK];
        // Where consumers realign B, they write one of two while wgmma reads the other.
        half Bs[Tile::kRealignsB ? 2 : kStages][Tile::kParts][kTileK][64];
        UnalignedTile<kTileK, Tile::kParts * 64> unaligned[Tile::kRealignsB ? kStages : 0];
        uint64_t full[kStages], empty[kStages];
    };
    // first: the rank of the first CTA that loads together with this one; rank: this CTA's, from
    // there; columns: of B, if it is to be realigned.
    __device__ Pipeline(Memory& memory, int first, int rank, int columns = 0)
        : memory_(memory), first_(first), cta_m_(rank / Tile::kAlongN),
          cta_n_(rank % Tile::kAlongN), columns_(columns) {}

    // One thread calls it, and then fence_mbarrier_init().
    __device__ void initialise() {
        for (int stage = 0; stage < kStages; ++stage) {
            ptx::mbarrier_init(&memory_.full[stage], 1);  // one arrival, of the producer
            // One arrival of each consumer warp that reads what this CTA loads.
            ptx::mbarrier_init(&memory_.empty[stage], Tile::kSharers * Tile::kConsumers / 32);
        }
    }

    // Consumers begin with parity 0, the producer with 1, that of the phase before the first: all
    // stages are empty.
    struct Position {
        int stage = 0, parity = 0;
        __device__ void next() {
            if (++stage < kStages) return;
            stage = 0;
            parity ^= 1;
        }
    };
    // Loads the k-tile that begins at k into the next stage, for the tile at that row and column.
    // If a warp calls it, `issues` is true in one lane.
    __device__ void load(Position& position, const CUtensorMap& A, const CUtensorMap& B, int row,
                         int col, int k, bool issues = true) {
        ptx::mbarrier_wait_parity(&memory_.empty[position.stage], position.parity);
        if (issues) issue_loads(position.stage, A, B, row, col, k);
        position.next();
    }
    // Waits until no other CTA can still arrive on this one's barriers, so that it may exit.
    __device__ void drain(Position& position) {
        for (int i = 0; Tile::kMulticastCtas > 1 && i < kStages; ++i, position.next())
            ptx::mbarrier_wait_parity(&memory_.empty[position.stage], position.parity);
    }

    // A consumer warpgroup, which owns the tile's rows (transposed: columns) from `row` on: its
    // position in the pipeline, and the descriptors of its operands there.
    class Consumer {
    public:
        // In units of 16 bytes: 64 to the next eight rows, 512 to the next 64 columns of B.
        __device__ Consumer(Pipeline& pipeline, int row)
            : pipeline_(pipeline), memory_(pipeline.memory_),
              A_first_(ptx::wgmma_descriptor(memory_.As[0][Tile::kSwapped ? 0 : row], 128, 64)),
              B_first_(ptx::wgmma_descriptor(memory_.Bs[0][Tile::kSwapped ? row / 64 : 0], 128, 64,
                                             512)),
              a_(A_first_), b_(B_first_), realigner_(pipeline.columns_) {}

        // acc = the products of the next `k_tiles` k-tiles. Calls overlapped(k_tile) while wgmma works
        // on a k-tile. If k_tiles is 0, acc becomes 0 after overlapped(0).
        template <class Overlapped>
        __device__ __forceinline__ void multiply(float (&acc)[Tile::kFragments][4], int k_tiles,
                                                 Overlapped overlapped) {
            // The products of a k-tile run on while a single consumer warpgroup starts those of the
            // next one, and while B of the next one is realigned.
            constexpr bool kSingleConsumer = Tile::kWarpgroups == 1 && !Tile::kRealignsB;
            constexpr bool kReleasesLater = kSingleConsumer || Tile::kRealignsB;
            int previous = 0;
            for (int k_tile = 0; k_tile < k_tiles; ++k_tile) {
                ptx::mbarrier_wait_parity(&memory_.full[position_.stage], position_.parity);
                if constexpr (Tile::kRealignsB) {
                    const int part = threadIdx.x / 128;  // the warpgroup's 64 columns
                    realigner_.realign(memory_.Bs[next_B_][part],
                                       memory_.unaligned[position_.stage], part * 64);
                    ptx::wgmma_wait_group<0>();
                    // That stage was realigned, and then fenced, one k-tile ago.
                    if (k_tile > 0) pipeline_.release(previous);
                    ptx::fence_proxy_async();  // before wgmma reads, and before TMA loads again
                    ptx::named_barrier_sync(1 + part, 128);  // the 64 columns are there
                }
                ptx::wgmma_fence();
                for (int s = 0; s < kTileK; s += 16) {  // along the rows of A, down the rows of B
                    const uint64_t a_s = a_ + s * 2 / 16, b_s = b_ + s * 128 / 16;
                    if (Tile::kSwapped)
                        ptx::wgmma_m64k16<half, 1, 0>(acc, b_s, a_s, k_tile + s > 0);
                    else ptx::wgmma_m64k16<half, 0, 1>(acc, a_s, b_s, k_tile + s > 0);
                }
                ptx::wgmma_commit_group();
                overlapped(k_tile);
                if (kSingleConsumer) {  // waits for the k-tile before, while these products run
                    ptx::wgmma_wait_group<1>();
                    if (k_tile > 0) pipeline_.release(previous);
                } else if (!kReleasesLater) {
                    ptx::wgmma_wait_group<0>();
                    pipeline_.release(position_.stage);
                }
                previous = position_.stage;
                position_.next();
                next_B_ = Tile::kRealignsB ? next_B_ ^ 1 : position_.stage;
                a_ = position_.stage ? a_ + sizeof(memory_.As[0]) / 16 : A_first_;
                b_ = next_B_ ? b_ + sizeof(memory_.Bs[0]) / 16 : B_first_;
            }
            if (kReleasesLater) {  // waits for the last k-tile
                ptx::wgmma_wait_group<0>();
                if (k_tiles > 0) pipeline_.release(previous);
            }
            ptx::warpgroup_fence_operand(acc);  // keeps the compiler from reading acc earlier
            if (k_tiles > 0) return;
            overlapped(0);
            for (auto& fragment : acc)
                for (float& element : fragment) element = 0;
        }

    private:
        Pipeline& pipeline_;
        Memory& memory_;
        const uint64_t A_first_, B_first_;  // of stage 0
        uint64_t a_, b_;
        int next_B_ = 0;  // of memory_.Bs: the stage, or where consumers realign B one of two
        struct NoRealigner {
            __device__ explicit NoRealigner(int) {}
        };
        std::conditional_t<Tile::kRealignsB, Realigner<kTileK>, NoRealigner> realigner_;
        Position position_;
    };

private:
    __device__ void issue_loads(int stage, const CUtensorMap& A, const CUtensorMap& B, int row,
                                int col, int k) {
        constexpr int kRowsA = Tile::kTileM / Tile::kAlongN, kRowsB = kTileK / Tile::kAlongM;
        // A bit for each CTA of the row of the cluster in which this one is, and of its column.
        constexpr unsigned kRow = (1 << Tile::kAlongN) - 1;
        constexpr unsigned kColumn = ((1 << Tile::kMulticastCtas) - 1) / kRow;
        const unsigned in_row = kRow << (first_ + cta_m_ * Tile::kAlongN);
        const unsigned in_column = kColumn << (first_ + cta_n_);
        constexpr int kBytesOfB =
            Tile::kRealignsB ? sizeof(memory_.unaligned[0]) : sizeof(memory_.Bs[0]);
        auto& [As, Bs, unaligned, full, empty] = memory_;
        ptx::mbarrier_arrive_expect_tx(&full[stage], sizeof(As[0]) + kBytesOfB);
        const int a = cta_n_ * kRowsA, b = cta_m_ * kRowsB;  // where this CTA's slices begin
        if (Tile::kAlongN == 1) ptx::cp_async_bulk_tensor(As[stage], &A, k, row, &full[stage]);
        else ptx::cp_async_bulk_tensor(As[stage][a], &A, k, row + a, &full[stage], in_row);
        if constexpr (Tile::kRealignsB)
            load_unaligned(unaligned[stage], B, columns_, k, col, &full[stage]);
        else
            for (int j = 0; j < Tile::kParts; ++j)
                if (Tile::kAlongM == 1)
                    ptx::cp_async_bulk_tensor(Bs[stage][j], &B, col + j * 64, k, &full[stage]);
                else
                    ptx::cp_async_bulk_tensor(Bs[stage][j][b], &B, col + j * 64, k + b,
                                              &full[stage], in_column);
    }
    // A consumer warp has read the stage: lanes 0, 1, ... each arrive on the empty barrier of one
    // CTA, first of those in this CTA's row of the cluster, then of the others in its column.
    __device__ void release(int stage) {
        const int lane = threadIdx.x % 32;
        const int above = lane - Tile::kAlongN, m = above < cta_m_ ? above : above + 1;
        const int rank =
            lane < Tile::kAlongN ? cta_m_ * Tile::kAlongN + lane : m * Tile::kAlongN + cta_n_;
        if (Tile::kMulticastCtas == 1 && lane == 0) ptx::mbarrier_arrive(&memory_.empty[stage]);
        if (Tile::kMulticastCtas > 1 && lane < Tile::kSharers)
            ptx::mbarrier_arrive_cluster(&memory_.empty[stage], first_ + rank);
    }
    Memory& memory_;
    const int first_, cta_m_, cta_n_, columns_;
};
