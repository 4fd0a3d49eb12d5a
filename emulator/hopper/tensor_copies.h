// Bulk tensor copies in flight.
#pragma once

#include <array>

#include "emulator/engine/clocks.h"
#include "emulator/hopper/tensor_maps.h"

namespace emulator {

struct Mbarrier;

// A wait at an mbarrier that has returned.
struct Waited {
    const Mbarrier* barrier = nullptr;
    Call site{};
    unsigned thread = 0;
    int64_t phase = 0;  // -1: the one before the first
    bool again = false;  // it returned at once, because the thread had waited for that phase before
    unsigned ranks = 0;  // that had arrived in that phase, as a mask
};

using Coordinates = std::array<int, 5>;  // x, y, ...; 0 beyond the map's rank

struct TensorCopy {
    const char* name;  // cp_async_bulk_tensor, cp_async_bulk or st_async
    bool store;
    TensorMap map;
    char* shared;
    Coordinates at;  // where the box begins
    unsigned thread;
    Call site;
    const void* pc;
    AsyncOrder order{};
    size_t note = 0;  // its number in the record
    // Of a load: the mbarrier that counts its bytes, and that mbarrier's phase at the call.
    Mbarrier* barrier = nullptr;
    uint32_t phase = 0;
    unsigned ranks = 0;  // of a multicast: the destinations, as a mask
    Waited before{};  // the last wait of its thread
    // Of a store: how many groups its thread had committed before; the box, once it has been read
    // (of st_async from the start); whether the thread has waited for that.
    unsigned group = 0;
    std::vector<char> box{};
    bool read = false;

    TensorCopy(bool store, const CUtensorMap* map, void* shared, const Coordinates& at, int rank,
               Call site, const void* pc);
    // A cp.async.bulk of contiguous bytes.
    TensorCopy(bool store, void* global, void* shared, uint64_t bytes, Call site, const void* pc);
    // A st_async is the load of a box of one row, out of a matrix that the copy itself holds.
    TensorCopy(const void* value, int bytes, void* shared, Call site, const void* pc);

    bool bulk() const { return map.magic != 0; }  // not st_async
    std::string title() const;  // its name, and where a multicast goes
    [[noreturn]] void refuse(const std::string& why, const std::string& hint = "") const;
    // The part of a row of the box that lies in the matrix.
    struct Row {
        char* begin = nullptr;
        int skipped = 0, bytes = 0;  // skipped: of the box's row, before it
    };
    Row row(uint64_t number) const;
    std::array<int64_t, 5> begin_of(uint64_t row) const;  // its coordinates
    // The address in shared memory of the 16 bytes that lie `at` bytes into a row of the box.
    char* place(uint64_t row, uint64_t at) const;
    void set_matrix(void* begin, uint64_t row, uint64_t bytes);
    void check_place(int alignment) const;  // in shared memory
    void trace_matrix() const;  // counts the request
    void start_note(const void* barrier = nullptr);
    // Visits the shared memory that the copy writes, at once where it is contiguous: visit(begin,
    // bytes).
    template <class Visit>
    void each_part(const Visit& visit) const {
        const bool whole = map.pitch() == map.row_bytes();
        if (whole && (!map.swizzle_bytes || map.box_bytes() % 1024 == 0))
            return visit(shared, map.box_bytes());
        for (uint64_t row = 0; row < map.rows(); ++row)
            for (uint64_t at = 0; at < map.row_bytes(); at += 16)
                visit(place(row, at), uint64_t(16));
    }
    void end_note() const;  // the box has arrived, or has been read
};

void publish(std::vector<TensorCopy>& loads, Sync& sync);  // releases what they wrote

}  // namespace emulator
