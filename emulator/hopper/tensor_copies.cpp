// What bulk tensor loads and stores share: boxes, their edges, and what the hardware requires of
// them.
//
// A copy takes place at some time between its call and the wait for it: at once if threads run in
// reverse order, as late as possible in forward order, at any time in random order.

#include "emulator/hopper/tensor_copies.h"

#include <algorithm>
#include <cstring>

#include "emulator/engine/accesses.h"
#include "emulator/engine/settings.h"
#include "emulator/engine/threads.h"
#include "emulator/include/warp_calls.h"
#include "emulator/trace/record.h"
#include "emulator/trace/requests.h"

namespace emulator {

TensorCopy::TensorCopy(bool store, const CUtensorMap* from, void* shared, const Coordinates& at,
                       int rank, Call site, const void* pc)
    : name("cp_async_bulk_tensor"), store(store), shared(static_cast<char*>(shared)), at(at),
      thread(current_thread), site(site), pc(pc) {
    require(90, name, site.file, site.line);
    if (reinterpret_cast<uintptr_t>(from) % 64 == 0) std::memcpy(&map, from, sizeof map);
    else map.magic = 0;
    if (map.magic != TensorMap::kMagic)
        refuse(
            "that is not a tensor map (const __grid_constant__ CUtensorMap, a kernel's parameter)");
    if (map.rank != rank)
        refuse("the map is of rank " + std::to_string(map.rank) + ", not " + std::to_string(rank));
    // For these an H200 reports an illegal instruction.
    if (int64_t(at[0]) * map.element_bytes % 16)
        refuse("x is " + std::to_string(at[0]) + ", whose bytes are not a multiple of 16");
    if (store && *std::min_element(at.begin(), at.end()) < 0)
        refuse("the box begins at x " + std::to_string(at[0]) + " and y " + std::to_string(at[1]) +
               "; a store's may not be negative");
    check_place(128);
}

TensorCopy::TensorCopy(bool store, void* global, void* shared, uint64_t bytes, Call site,
                       const void* pc)
    : name("cp_async_bulk"), store(store), map{}, shared(static_cast<char*>(shared)), at{},
      thread(current_thread), site(site), pc(pc) {
    require(90, name, site.file, site.line);
    if (bytes % 16 || bytes == 0) refuse(std::to_string(bytes) + " bytes, not a multiple of 16");
    if (reinterpret_cast<uintptr_t>(global) % 16)
        refuse("the address in global memory is not a multiple of 16");
    map.magic = TensorMap::kMagic;
    set_matrix(global, std::min<uint64_t>(bytes & -bytes, 2048), bytes);
    check_place(16);
}

TensorCopy::TensorCopy(const void* value, int bytes, void* shared, Call site, const void* pc)
    : name("st_async"), store(false), map{}, shared(static_cast<char*>(shared)), at{},
      thread(current_thread), site(site), pc(pc), box(bytes) {
    require(90, name, site.file, site.line);
    std::memcpy(box.data(), value, bytes);
    set_matrix(box.data(), bytes, bytes);
    check_place(bytes);
}

// The copy's matrix consists of all rows that follow each other from there.
void TensorCopy::set_matrix(void* begin, uint64_t row, uint64_t bytes) {
    map.address = static_cast<char*>(begin);
    map.element_bytes = 1;
    std::fill_n(map.dims, 5, 1);
    std::fill_n(map.box, 5, 1);
    map.dims[0] = map.box[0] = uint32_t(row);
    map.dims[1] = map.box[1] = uint32_t(bytes / row);
    map.strides[0] = row;
}

void TensorCopy::check_place(int alignment) const {
    if (reinterpret_cast<uintptr_t>(shared) % alignment)
        refuse("the address in shared memory is not a multiple of " + std::to_string(alignment));
    if (!is_shared(shared)) refuse("that address is not in shared memory");
    const auto dynamic = reinterpret_cast<uintptr_t>(run.shared);
    if (alignment > 16 &&
        reinterpret_cast<uintptr_t>(shared) - dynamic < run.shared_stride * run.ranks &&
        run.shared_alignment < size_t(alignment))
        refuse("the address is a multiple of " + std::to_string(alignment) +
               " by chance: extern __shared__ needs __align__(" + std::to_string(alignment) + ")");
    accesses::check_bulk(shared, map.footprint(), store ? trace::kRead : trace::kWrite, pc);
}

std::string TensorCopy::title() const {
    if (!ranks) return name;
    const auto offset = size_t(shared - static_cast<char*>(run.shared));
    return name + (" into rank " + std::to_string(offset / run.shared_stride));
}

void TensorCopy::refuse(const std::string& why, const std::string& hint) const {
    misuse_by(thread, title() + ": " + why, site.file, site.line, hint);
    std::abort();  // not reached
}

std::array<int64_t, 5> TensorCopy::begin_of(uint64_t row) const {
    std::array<int64_t, 5> all{at[0]};
    for (int d = 1; d < 5; row /= map.box[d++]) all[d] = at[d] + int64_t(row % map.box[d]);
    return all;
}

TensorCopy::Row TensorCopy::row(uint64_t number) const {
    const std::array<int64_t, 5> first = begin_of(number);
    const int64_t x = first[0], begin = std::max<int64_t>(x, 0);
    int64_t offset = begin * map.element_bytes;
    for (int d = 1; d < 5; ++d) {
        if (first[d] < 0 || first[d] >= int64_t(map.dims[d])) return {};
        offset += first[d] * int64_t(map.strides[d - 1]);
    }
    // An H200 cuts a store off after the 16 bytes that hold the last element.
    const int in_16 = store ? 16 / map.element_bytes : 1;
    const int64_t columns = (int64_t(map.dims[0]) + in_16 - 1) / in_16 * in_16;
    const int64_t end = std::min(x + int64_t(map.box[0]), columns);
    if (begin >= end) return {};
    return {map.address + offset, int(begin - x) * map.element_bytes,
            int(end - begin) * map.element_bytes};
}

char* TensorCopy::place(uint64_t row, uint64_t at) const {
    const auto address = reinterpret_cast<uintptr_t>(shared + row * map.pitch() + at);
    return reinterpret_cast<char*>(map.swizzled(address));
}

// Sectors: those of all rows of the box, outside the matrix too, as an H200 counts them.
void TensorCopy::trace_matrix() const {
    uint64_t bytes = 0, sectors = 0;
    for (uint64_t i = 0; i < map.rows(); ++i) {
        const Row row = this->row(i);
        const std::array<int64_t, 5> first = begin_of(i);
        auto begin = reinterpret_cast<uintptr_t>(map.address) + first[0] * map.element_bytes;
        for (int d = 1; d < 5; ++d) begin += first[d] * int64_t(map.strides[d - 1]);
        auto end = begin + map.row_bytes();
        if (row.bytes) {
            const auto inside = reinterpret_cast<uintptr_t>(row.begin);
            const Allocation* memory = find_allocation(inside);
            if (!tracing() && !only_ends_run() && (!memory || inside + row.bytes > memory->end))
                refuse("row " + std::to_string(first[1]) +
                       " of the copy's matrix is not all in device memory");
            if (!store) accesses::note_bulk(thread, row.begin, row.bytes, trace::kRead, pc);
            bytes += row.bytes;
            if (store) {
                begin = inside;
                end = inside + row.bytes;
            }
        } else if (store) {
            continue;
        }
        sectors += (end + 31) / 32 - begin / 32;
    }
    count_bulk(pc, store, bytes, sectors);
}

// "load,WARP,MBARRIER,MATRIX,X,Y,COLUMNS,ROWS" and the address of each 16 bytes, row by row.
void TensorCopy::start_note(const void* barrier) {
    if (!record::on) return;
    std::string text = (store ? "store," : "load,") + std::to_string(thread / 32) +
                       record::number(barrier) + record::number(map.address);
    for (const int number : {at[0], at[1], int(map.box[0]), int(map.rows())})
        text += "," + std::to_string(number);
    for (uint64_t i = 0; i < map.rows(); ++i)
        for (uint64_t part = 0; part < map.row_bytes(); part += 16)
            text += record::number(place(i, part));
    note = record::note_of(current_thread, text);
}

void TensorCopy::end_note() const {
    if (record::on) record::note("done," + std::to_string(note));
}

void publish(std::vector<TensorCopy>& loads, Sync& sync) {
    for (TensorCopy& load : loads) {
        clocks::act(load.order, [&] {
            load.each_part([&](char* begin, uint64_t bytes) {
                accesses::note_bulk(load.order.agent, begin, bytes, trace::kWrite, load.pc);
            });
        });
        sync.release(load.order);
    }
    loads.clear();
}

}  // namespace emulator
