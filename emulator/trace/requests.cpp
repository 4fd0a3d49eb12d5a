// Requests: what the lanes of a warp access together, and its cost in sectors or wavefronts.

#include "emulator/trace/requests.h"

#include <algorithm>

#include "emulator/emulator.h"
#include "emulator/trace/record.h"
#include "emulator/trace/tracing.h"

namespace emulator {
namespace {

// A thread yields after so many executions of an instruction. The lanes of a warp then stay close
// together, and their requests can be counted and forgotten long before the next barrier.
constexpr uint32_t kChunk = 256;

std::vector<Site*> touched;  // since the last barrier
unsigned most_threads = 0;  // of a launch

int global_sectors(const Request& request) {
    constexpr int kSectorBytes = 32;
    uint64_t sectors[64];
    int count = 0;
    for (int lane = 0; lane < 32; ++lane) {
        if (!(request.active >> lane & 1)) continue;
        const uint64_t last = (request.address[lane] + request.width - 1) / kSectorBytes;
        for (uint64_t s = request.address[lane] / kSectorBytes; s <= last; ++s) {
            int i = count;  // search from the end: neighbours mostly share the last sector
            while (i > 0 && sectors[i - 1] != s) --i;
            if (i == 0) sectors[count++] = s;
        }
    }
    return count;
}

// Counts the oldest requests of a warp and forgets them.
void finish_requests(Site& site, unsigned warp, size_t count) {
    std::vector<Request>& pending = site.pending[warp];
    for (size_t i = 0; i < count; ++i) {
        const Request& request = pending[i];
        ++site.requests;
        site.bytes += request.bytes;
        int cost, ideal;
        if (site.global) {
            cost = global_sectors(request);
            // cost: less if lanes read the same bytes.
            ideal = std::min(cost, (request.bytes + 31) / 32);
        } else {
            cost = shared_wavefronts(request.address, request.active, request.width, site.store,
                                     &ideal);
        }
        site.cost += cost;
        site.ideal += ideal;
        if (record::on) record::cost(site, warp, site.finished[warp] + i, cost, ideal);
    }
    pending.erase(pending.begin(), pending.begin() + count);
    site.finished[warp] += count;
}

// The thread's next request of this instruction.
Request& next_request(Site& site, unsigned thread) {
    std::vector<Request>& pending = site.pending[thread / 32];
    uint32_t &time = site.times[thread], &finished = site.finished[thread / 32];
    if (time - finished == 2 * kChunk) finish_requests(site, thread / 32, kChunk);
    time = std::max(time, finished);  // a lane that is too far behind joins a later request
    if (time - finished == pending.size()) pending.emplace_back();
    return pending[time++ - finished];
}

}  // namespace

void count_threads(unsigned threads) { most_threads = std::max(most_threads, threads); }

bool count_access(Site& site, unsigned thread, uintptr_t address, int width) {
    site.width = std::max(site.width, width);
    if (!site.touched) {
        site.touched = true;
        touched.push_back(&site);
    }
    Request& request = next_request(site, thread);
    request.active |= 1u << thread % 32;
    request.width = std::max(request.width, width);
    request.bytes += width;
    request.address[thread % 32] = address;
    return site.times[thread] % kChunk == 0;
}

void count_bulk(const void* pc, bool store, uint64_t bytes, uint64_t sectors) {
    if (!traced) return;
    Site& site = find_site(reinterpret_cast<uintptr_t>(pc), true, store);
    ++site.requests;
    site.bytes += bytes;
    site.cost += sectors;
    site.ideal += std::min(sectors, (bytes + 31) / 32);
}

void count_pending() {
    for (Site* site : touched) {
        for (unsigned warp = 0; warp * 32 < most_threads; ++warp) {
            finish_requests(*site, warp, site->pending[warp].size());
            site->finished[warp] = 0;
        }
        std::fill_n(site->times, most_threads, 0);
        site->touched = false;
    }
    touched.clear();
}

int shared_wavefronts(const uint64_t (&address)[32], uint32_t active, int width, bool store,
                      int* ideal) {
    constexpr int kBanks = 32, kBankBytes = 4;
    // 128 bytes are served at a time: a whole warp of 4 bytes per lane, half a warp of 8, a quarter
    // of 16.
    int groups = width <= 4 ? 1 : width <= 8 ? 2 : 4;
    const auto pairs_agree = [&](int distance) {
        for (int lane = 0; lane < 32; ++lane) {
            const int other = lane ^ distance;
            if ((active >> lane & 1) && (active >> other & 1) && address[lane] != address[other])
                return false;
        }
        return true;
    };
    // Two neighbouring groups of a load are served together when pairs of lanes load the same
    // bytes.
    if (!store && groups > 1 && (pairs_agree(1) || pairs_agree(2))) groups /= 2;

    int wavefronts = 0, least = 0;
    for (int group = 0; group < groups; ++group) {
        uint64_t words[kBanks][32];  // the distinct words that lanes access in each bank
        int in_bank[kBanks] = {}, distinct = 0, most = 0;
        for (int lane = group * 32 / groups; lane < (group + 1) * 32 / groups; ++lane) {
            if (!(active >> lane & 1)) continue;
            for (uint64_t word = address[lane] / kBankBytes;
                 word <= (address[lane] + width - 1) / kBankBytes; ++word) {
                uint64_t* const bank = words[word % kBanks];
                int& count = in_bank[word % kBanks];
                if (std::find(bank, bank + count, word) != bank + count)
                    continue;  // a word is broadcast to all lanes that access it
                bank[count++] = word;
                ++distinct;
                most = std::max(most, count);
            }
        }
        wavefronts += most;
        least += (distinct + kBanks - 1) / kBanks;
    }
    if (ideal) *ideal = least;
    return wavefronts;
}

}  // namespace emulator
