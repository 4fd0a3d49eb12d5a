// The instructions that the emulator has in inline PTX, and the special registers. What is not here
// is refused.

#include "emulator/ptx/ptx_table.h"

#include <map>

#include "emulator/engine/run.h"
#include "emulator/include/common/ptx/hopper.cuh"
#include "emulator/ptx/ptx_arithmetic.h"
#include "emulator/ptx/ptx_hopper.h"
#include "emulator/ptx/ptx_memory.h"
#include "emulator/ptx/ptx_warp.h"

namespace emulator {
namespace {

namespace a = ptx_arithmetic;
namespace h = ptx_hopper;
namespace m = ptx_memory;
namespace w = ptx_warp;

#define INTEGERS "s16 s32 s64 u16 u32 u64 "
#define BITS "b16 b32 b64 "
#define HALVES "f16 f16x2 bf16 bf16x2 "
#define REALS "f32 f64 "
#define SPACES "shared shared::cta shared::cluster global const local param "
#define CACHES                                                                               \
    "nc ca cg cs cv lu wb wt volatile weak L1::evict_normal L1::evict_first L1::evict_last " \
    "L1::evict_unchanged L1::no_allocate L2::evict_normal L2::evict_first L2::evict_last "   \
    "L2::64B L2::128B L2::256B L2::cache_hint "
#define ORDERS "relaxed acquire release acq_rel sc cta cluster gpu sys "
#define OPERATIONS "add min max and or xor exch cas inc dec noftz v2 v4 "
#define COMPARISONS "eq ne lt le gt ge lo ls hi hs equ neu ltu leu gtu geu num nan and or xor ftz "

// The longest name that fits is taken. rewrite_launches.py reads the names, too.
const PtxRow kRows[] = {
    // Arithmetic
    {"add", INTEGERS HALVES REALS "rn ftz sat", 3, 3, a::add},
    {"sub", INTEGERS HALVES REALS "rn ftz sat", 3, 3, a::sub},
    {"mul", INTEGERS HALVES REALS "lo hi wide rn ftz sat", 3, 3, a::mul},
    {"mad", INTEGERS REALS "lo hi wide rn ftz sat", 4, 4, a::mad},
    {"fma", HALVES REALS "relu rn ftz sat", 4, 4, a::fma},
    {"div", INTEGERS REALS "rn ftz approx full", 3, 3, a::div},
    {"rem", INTEGERS, 3, 3, a::rem},
    {"min", INTEGERS HALVES REALS "ftz NaN", 3, 3, a::min},
    {"max", INTEGERS HALVES REALS "ftz NaN", 3, 3, a::max},
    {"abs", INTEGERS HALVES REALS "ftz", 2, 2, a::abs},
    {"neg", INTEGERS HALVES REALS "ftz", 2, 2, a::neg},
    {"sad", INTEGERS, 4, 4, a::sad},
    {"rcp", REALS "rn ftz approx", 2, 2, a::rcp},
    {"sqrt", REALS "rn ftz approx", 2, 2, a::sqrt},
    {"rsqrt", REALS "ftz approx", 2, 2, a::rsqrt},
    {"ex2", HALVES "f32 ftz approx", 2, 2, a::ex2},
    {"lg2", "f32 ftz approx", 2, 2, a::lg2},
    {"sin", "f32 ftz approx", 2, 2, a::sin},
    {"cos", "f32 ftz approx", 2, 2, a::cos},
    {"tanh", HALVES "f32 approx", 2, 2, a::tanh},
    {"dp4a", "s32 u32", 4, 4, a::dp4a},
    {"dp2a", "s32 u32 lo hi", 4, 4, a::dp2a},
    // Bits
    {"and", BITS "pred", 3, 3, a::and_},
    {"or", BITS "pred", 3, 3, a::or_},
    {"xor", BITS "pred", 3, 3, a::xor_},
    {"not", BITS "pred", 2, 2, a::not_},
    {"shl", BITS, 3, 3, a::shl},
    {"shr", BITS INTEGERS, 3, 3, a::shr},
    {"shf", "b32 l r wrap clamp", 4, 4, a::shf},
    {"lop3", "b32", 5, 5, a::lop3},
    {"bfe", "s32 s64 u32 u64", 4, 4, a::bfe},
    {"bfi", "b32 b64", 5, 5, a::bfi},
    {"brev", "b32 b64", 2, 2, a::brev},
    {"clz", "b32 b64", 2, 2, a::clz},
    {"popc", "b32 b64", 2, 2, a::popc},
    {"prmt", "b32", 4, 4, a::prmt},
    // Conditions and moves
    {"setp", BITS INTEGERS REALS "f16 bf16 " COMPARISONS, 3, 4, a::setp},
    {"selp", BITS INTEGERS REALS, 4, 4, a::selp},
    {"slct", BITS INTEGERS REALS "ftz", 4, 4, a::slct},
    {"cvt", INTEGERS HALVES REALS "s8 u8 tf32 relu rn rz rm rp rna rni rzi rmi rpi ftz sat", 2, 3,
     a::cvt},
    {"mov", "type", 2, 2, a::mov},
    {"bra", "uni", 1, 1, w::bra},
    {"trap", "", 0, 0, w::trap},
    {"nanosleep", "type", 1, 1, m::nothing},
    // Memory
    {"ld", "type v2 v4 " SPACES CACHES ORDERS, 2, 3, m::ld},
    {"st", "type v2 v4 " SPACES CACHES ORDERS, 2, 3, m::st},
    {"atom", "type " SPACES CACHES ORDERS OPERATIONS, 3, 5, m::atom},
    {"red", "type " SPACES CACHES ORDERS OPERATIONS, 2, 3, m::red},
    {"cvta", "type to " SPACES, 2, 2, m::cvta},
    {"isspacep", SPACES, 2, 2, m::isspacep},
    {"prefetch", "L1 L2 tensormap " SPACES CACHES, 1, 1, m::nothing},
    {"prefetchu", "L1", 1, 1, m::nothing},
    {"applypriority", SPACES CACHES, 2, 2, m::nothing},
    {"createpolicy", "type fractional range cvt L2 " SPACES CACHES, 1, 6, m::zero},
    {"fence", "proxy alias async mbarrier_init tensormap::generic " SPACES ORDERS, 0, 2, m::fence},
    {"membar", "cta gl sys", 0, 0, m::membar},
    {"cp.async", "ca cg " SPACES CACHES, 3, 5, m::cp_async},
    {"cp.async.commit_group", "", 0, 0, m::cp_async_commit_group},
    {"cp.async.wait_group", "", 1, 1, m::cp_async_wait_group},
    {"cp.async.wait_all", "", 0, 0, m::cp_async_wait_all},
    // Warps and blocks
    {"shfl.sync", "type up down bfly idx", 5, 5, w::shfl},
    {"vote.sync", "type all any ballot", 3, 3, w::vote},
    {"match", "type sync all any", 3, 3, w::match},
    {"redux.sync", "type add min max and or xor", 3, 3, w::redux},
    {"activemask", "type", 1, 1, w::activemask},
    {"elect.sync", "", 2, 2, w::elect},
    {"ldmatrix.sync", "type aligned m8n8 x1 x2 x4 trans shared shared::cta", 2, 2, w::ldmatrix},
    {"stmatrix.sync", "type aligned m8n8 x1 x2 x4 trans shared shared::cta", 2, 2, w::stmatrix},
    {"mma.sync", "type aligned m16n8k4 m16n8k8 m16n8k16 m16n8k32 m8n8k4 m8n8k16 row col satfinite",
     4, 4, w::mma},
    {"bar", "type sync arrive cta", 1, 2, w::bar},
    {"barrier", "type sync arrive cta aligned", 1, 2, w::bar},
    // Hopper
    {"mbarrier.init", "type shared shared::cta", 2, 2, h::mbarrier_init},
    {"mbarrier.inval", "type shared shared::cta", 1, 1, h::mbarrier_inval},
    {"mbarrier.arrive", "type expect_tx " SPACES ORDERS, 1, 3, h::mbarrier_arrive},
    {"mbarrier.arrive_drop", "type shared shared::cta release cta", 1, 2, h::mbarrier_arrive_drop},
    {"mbarrier.expect_tx", "type " SPACES ORDERS, 2, 2, h::mbarrier_expect_tx},
    {"mbarrier.try_wait", "type parity " SPACES ORDERS, 3, 4, h::mbarrier_wait},
    {"mbarrier.test_wait", "type parity " SPACES ORDERS, 3, 3, h::mbarrier_wait},
    {"cp.async.bulk",
     "prefetch shared::cta shared::cluster global L2 mbarrier::complete_tx::bytes "
     "multicast::cluster bulk_group L2::cache_hint",
     2, 6, h::cp_async_bulk},
    {"cp.async.bulk.tensor",
     "1d 2d 3d 4d 5d shared::cta shared::cluster global tile mbarrier::complete_tx::bytes "
     "multicast::cluster bulk_group L2::cache_hint",
     2, 5, h::cp_async_bulk_tensor},
    {"cp.async.bulk.prefetch.tensor", "1d 2d 3d 4d 5d L2 global tile L2::cache_hint", 1, 2,
     m::nothing},
    {"cp.async.bulk.commit_group", "", 0, 0, h::cp_async_bulk_commit_group},
    {"cp.async.bulk.wait_group", "read", 1, 1, h::cp_async_bulk_wait_group},
    {"st.async", "type weak v2 v4 mbarrier::complete_tx::bytes " SPACES, 3, 3, h::st_async},
    {"mapa", "type shared::cluster", 3, 3, h::mapa},
    {"getctarank", "type shared::cluster", 2, 2, h::getctarank},
    {"barrier.cluster.arrive", "aligned release relaxed", 0, 0, h::cluster_arrive},
    {"barrier.cluster.wait", "aligned acquire", 0, 0, h::cluster_wait},
    {"setmaxnreg", "type inc dec sync aligned", 1, 1, h::setmaxnreg},
    {"griddepcontrol", "wait launch_dependents", 0, 0, m::griddepcontrol},
    {"wgmma.fence", "sync aligned", 0, 0, h::wgmma_fence},
    {"wgmma.commit_group", "sync aligned", 0, 0, h::wgmma_commit_group},
    {"wgmma.wait_group", "sync aligned", 1, 1, h::wgmma_wait_group},
    {"wgmma.mma_async", "type sync aligned shape", 4, 8, h::wgmma},
};

// Rows by their names, as they are looked up.
const std::map<std::string, const PtxRow*>& by_name() {
    static const auto& rows = *[] {
        auto* const all = new std::map<std::string, const PtxRow*>;
        for (const PtxRow& row : kRows) (*all)[row.name] = &row;
        return all;
    }();
    return rows;
}

// ---- Special registers --------------------------------------------------------------------------

// The coordinate that the last letter of a name asks for.
template <class Vector>
unsigned coordinate(const Vector& vector, const char* name) {
    const char letter = name[std::string(name).size() - 1];
    return letter == 'x' ? vector.x : letter == 'y' ? vector.y : vector.z;
}
uint64_t one_bit(int lane) { return uint64_t(1) << lane; }

const std::map<std::string, PtxRegister>& special_registers() {
    static const auto& all = *new std::map<std::string, PtxRegister>{
        {"tid", [](const char* n) -> uint64_t { return coordinate(indices.thread, n); }},
        {"ntid", [](const char* n) -> uint64_t { return coordinate(builtins.block_dim, n); }},
        {"ctaid", [](const char* n) -> uint64_t { return coordinate(indices.block, n); }},
        {"nctaid", [](const char* n) -> uint64_t { return coordinate(builtins.grid_dim, n); }},
        {"clusterid",
         [](const char* n) -> uint64_t {
             return coordinate(indices.block, n) / coordinate(run.cluster, n);
         }},
        {"nclusterid",
         [](const char* n) -> uint64_t {
             return coordinate(builtins.grid_dim, n) / coordinate(run.cluster, n);
         }},
        {"cluster_ctaid",
         [](const char* n) -> uint64_t {
             return coordinate(indices.block, n) % coordinate(run.cluster, n);
         }},
        {"cluster_nctaid", [](const char* n) -> uint64_t { return coordinate(run.cluster, n); }},
        {"cluster_ctarank",
         [](const char*) -> uint64_t { return unsigned(get_sreg_cluster_ctarank()); }},
        {"cluster_nctarank", [](const char*) -> uint64_t { return run.ranks; }},
        {"laneid", [](const char*) -> uint64_t { return unsigned(lane()); }},
        {"warpid", [](const char*) -> uint64_t { return current_thread % run.block_threads / 32; }},
        {"nwarpid", [](const char*) -> uint64_t { return (run.block_threads + 31) / 32; }},
        {"smid", [](const char*) -> uint64_t { return indices.block.x % 3; }},
        {"nsmid", [](const char*) -> uint64_t { return 3; }},
        {"gridid", [](const char*) -> uint64_t { return 0; }},
        {"lanemask_eq", [](const char*) { return one_bit(lane()); }},
        {"lanemask_lt", [](const char*) { return one_bit(lane()) - 1; }},
        {"lanemask_le", [](const char*) { return one_bit(lane() + 1) - 1; }},
        {"lanemask_gt", [](const char*) { return 0xffffffff & ~(one_bit(lane() + 1) - 1); }},
        {"lanemask_ge", [](const char*) { return 0xffffffff & ~(one_bit(lane()) - 1); }},
        {"clock", [](const char*) -> uint64_t { return uint32_t(clock64()); }},
        {"clock64", [](const char*) -> uint64_t { return uint64_t(clock64()); }},
        {"globaltimer", [](const char*) -> uint64_t { return uint64_t(clock64()); }},
        {"globaltimer_lo", [](const char*) -> uint64_t { return uint32_t(clock64()); }},
        {"globaltimer_hi", [](const char*) -> uint64_t { return uint64_t(clock64()) >> 32; }},
        {"dynamic_smem_size", [](const char*) -> uint64_t { return run.shared_bytes; }},
    };
    return all;
}

}  // namespace

const PtxRow* find_row(const std::string& opcode) {
    for (size_t end = opcode.size(); end != opcode.npos && end > 0;
         end = opcode.rfind('.', end - 1)) {
        const auto found = by_name().find(opcode.substr(0, end));
        if (found != by_name().end()) return found->second;
    }
    return nullptr;
}

PtxRegister find_special(const std::string& name) {
    const auto found = special_registers().find(name.substr(0, name.find('.')));
    return found == special_registers().end() ? nullptr : found->second;
}

}  // namespace emulator
