// What common/ptx, libcu++'s cuda::ptx and cuda::barrier, and inline PTX are built on: mbarriers, bulk
// copies, the barrier of a cluster, the election of a lane.
#pragma once

#include "emulator/include/cuda.h"

namespace emulator {

void mbarrier_init(uint64_t* barrier, int arrivals, const char* file, int line);
void mbarrier_arrive(uint64_t* barrier, const char* file, int line);
void mbarrier_arrive_expect_tx(uint64_t* barrier, int bytes, const char* file, int line);
// The barrier may be another block's.
void mbarrier_arrive_at(uint64_t* barrier, int count, int bytes, const char* file, int line);
void mbarrier_expect_tx(uint64_t* barrier, int bytes, const char* file, int line);
void mbarrier_arrive_drop(uint64_t* barrier, const char* file, int line);
void mbarrier_inval(uint64_t* barrier, const char* file, int line);
unsigned mbarrier_phase(uint64_t* barrier, const char* file, int line);
void mbarrier_wait_parity(uint64_t* barrier, int parity, const char* file, int line);
// Returns false when no thread can go on without the caller, but not twice for the same phase.
bool mbarrier_try_wait_parity(uint64_t* barrier, int parity, const char* file, int line);
void fence_mbarrier_init();
void fence_proxy_async();
void named_barrier_sync(int id, int count, const char* file, int line);
void named_barrier_arrive(int id, int count, const char* file, int line);
void cp_async_bulk_tensor(void* to, const CUtensorMap* map, int x, int y, uint64_t* barrier,
                          const char* file, int line);
void cp_async_bulk_tensor(const CUtensorMap* map, int x, int y, const void* from, const char* file,
                          int line);
// The same for boxes of up to five dimensions, and for contiguous bytes. ranks: a mask; 0: the own
// block.
void cp_async_bulk_tensor(void* to, const CUtensorMap* map, const int (&at)[5], int rank,
                          uint64_t* barrier, unsigned ranks, const char* file, int line);
void cp_async_bulk_tensor(const CUtensorMap* map, const int (&at)[5], int rank, const void* from,
                          const char* file, int line);
void cp_async_bulk(void* to, const void* from, unsigned bytes, uint64_t* barrier, unsigned ranks,
                   const char* file, int line);
void cp_async_bulk(void* to, const void* from, unsigned bytes, const char* file, int line);
// Of 4, 8 or 16 bytes; both addresses are in one block, which may be another one.
void st_async_at(void* to, const void* value, int bytes, uint64_t* barrier, const char* file,
                 int line);
void cp_async_bulk_commit_group();
void cp_async_bulk_wait_group(unsigned pending, bool read, const char* file, int line);

// The lowest lane of the mask that has not returned, when all of them have arrived.
int elected_lane(unsigned mask, const char* file, int line);

int get_sreg_cluster_ctarank();
void barrier_cluster_arrive(bool relaxed, const char* file, int line);
void barrier_cluster_wait(const char* file, int line);

}  // namespace emulator
