// Bulk stores in flight, of boxes (cp.async.bulk.tensor) and of contiguous bytes (cp.async.bulk),
// from shared to global memory. A store reads shared memory at some time before a
// cp_async_bulk_wait_group_read() that covers its committed group completes, and writes global
// memory at some time before such a cp_async_bulk_wait_group() completes.

#include "emulator/hopper/tensor_stores.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "emulator/engine/accesses.h"
#include "emulator/engine/names.h"
#include "emulator/engine/settings.h"
#include "emulator/engine/threads.h"
#include "emulator/hopper/tensor_copies.h"
#include "emulator/trace/record.h"
#include "emulator/trace/report.h"

namespace emulator {
namespace {

struct Stores {  // of a thread
    std::vector<TensorCopy> in_flight;
    unsigned groups = 0;  // committed
} all[kMaxThreads];

void read_box(TensorCopy& store) {
    if (!store.box.empty()) return;
    const uint64_t bytes = store.map.row_bytes();
    store.box.resize(store.map.box_bytes());
    for (size_t at = 0; at < store.box.size(); at += 16)
        std::memcpy(&store.box[at], store.place(at / bytes, at % bytes), 16);
    store.end_note();
}

void write_matrix(TensorCopy& store) {
    read_box(store);
    for (uint64_t i = 0; i < store.map.rows(); ++i)
        if (const TensorCopy::Row row = store.row(i); row.bytes)
            std::memcpy(row.begin, &store.box[i * store.map.row_bytes() + row.skipped], row.bytes);
}

// Traces the reads of shared memory: the part of the box that is in bounds.
void trace_read(TensorCopy& store) {
    if (std::exchange(store.read, true)) return;
    clocks::act(store.order, [&] {
        for (uint64_t i = 0; i < store.map.rows(); ++i) {
            const TensorCopy::Row row = store.row(i);
            for (int at = row.skipped, next; at < row.skipped + row.bytes; at = next) {
                next = std::min(row.skipped + row.bytes, at / 16 * 16 + 16);
                char* const chunk = store.place(i, at / 16 * 16);
                accesses::note_bulk(store.order.agent, chunk + at % 16, next - at, trace::kRead,
                                    store.pc);
            }
        }
    });
}

void trace_write(TensorCopy& store) {
    trace_read(store);
    clocks::act(store.order, [&] {
        for (uint64_t i = 0; i < store.map.rows(); ++i)
            if (const TensorCopy::Row row = store.row(i); row.bytes)
                accesses::note_bulk(store.order.agent, row.begin, row.bytes, trace::kWrite,
                                    store.pc);
    });
}

// May perform stores before the wait that covers them: at once, at random, or not at all.
void make_progress(Stores& stores) {
    for (TensorCopy& store : stores.in_flight) {
        if (happens_early()) read_box(store);
        if (!store.box.empty() && happens_early()) write_matrix(store);
    }
}

}  // namespace

namespace {

void start(TensorCopy store) {
    if (record::on) record::call(current_thread, "bulk store", store.site.file, store.site.line);
    for (unsigned t = 0; t < run.threads; ++t)
        for (const TensorCopy& other : all[t].in_flight)
            if (t != current_thread && other.at == store.at &&
                other.map.address == store.map.address)
                store.refuse(thread_name(t) + " stores this box, too: only one thread may");
    Stores& mine = all[current_thread];
    store.group = mine.groups;
    store.trace_matrix();
    store.order = clocks::begin_async(current_thread, &mine);
    store.start_note();
    mine.in_flight.push_back(std::move(store));
    make_progress(mine);
}

}  // namespace

void cp_async_bulk_tensor(const CUtensorMap* map, int x, int y, const void* from, const char* file,
                          int line) {
    EmulatorsWork work;
    start({true, map, const_cast<void*>(from), Coordinates{x, y}, 2, Call{file, line, 0},
           caller(__builtin_return_address(0))});
}
void cp_async_bulk_tensor(const CUtensorMap* map, const int (&at)[5], int rank, const void* from,
                          const char* file, int line) {
    EmulatorsWork work;
    start({true, map, const_cast<void*>(from), Coordinates{at[0], at[1], at[2], at[3], at[4]}, rank,
           Call{file, line, 0}, caller(__builtin_return_address(0))});
}
void cp_async_bulk(void* to, const void* from, unsigned bytes, const char* file, int line) {
    EmulatorsWork work;
    start({true, to, const_cast<void*>(from), bytes, Call{file, line, 0},
           caller(__builtin_return_address(0))});
}

void cp_async_bulk_commit_group() { ++all[current_thread].groups; }

void cp_async_bulk_wait_group(unsigned pending, bool read, const char* file, int line) {
    EmulatorsWork work;
    if (record::on) record::call(current_thread, "store wait", file, line);
    Stores& mine = all[current_thread];
    auto& list = mine.in_flight;
    make_progress(mine);
    const auto covered = [&](const TensorCopy& store) {
        return store.group + pending < mine.groups;
    };
    for (TensorCopy& store : list) {
        if (!covered(store)) continue;
        if (read) {
            read_box(store);
            trace_read(store);
        } else {
            write_matrix(store);
            trace_write(store);
        }
        clocks::learn(store.thread, store.order);
    }
    if (!read) list.erase(std::remove_if(list.begin(), list.end(), covered), list.end());
}

namespace tensor_stores {

void begin_block() {
    for (unsigned t = 0; t < run.threads; ++t) all[t] = Stores();
}

void end_block() {
    for (unsigned t = 0; t < run.threads; ++t)
        for (TensorCopy& store : all[t].in_flight) {
            if (!store.read)
                report_once("the block ends, and no cp_async_bulk_wait_group_read() covers the " +
                                std::string(store.name) + " at " + site_name(store.site),
                            block_name() + ", " + thread_name(t));
            write_matrix(store);
            trace_write(store);
        }
}

void fail_block() {
    for (unsigned t = 0; t < run.threads; ++t)
        for (TensorCopy& store : all[t].in_flight) trace_write(store);
}

}  // namespace tensor_stores
}  // namespace emulator
