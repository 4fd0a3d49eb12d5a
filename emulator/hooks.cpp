// The table of mechanisms.

#include "emulator/engine/hooks.h"

#include "emulator/api/kernels.h"
#include "emulator/engine/accesses.h"
#include "emulator/engine/block_barriers.h"
#include "emulator/engine/named_barriers.h"
#include "emulator/engine/scheduler.h"
#include "emulator/engine/watchdog.h"
#include "emulator/hopper/clusters.h"
#include "emulator/hopper/mbarriers.h"
#include "emulator/hopper/wgmma.h"
#include "emulator/summary.h"
#include "emulator/trace/record.h"
#include "emulator/trace/shared_names.h"
#include "emulator/warp/async.h"
#include "emulator/warp/warps.h"

namespace emulator {
namespace {

// In the order of the calls. At a block's end bulk loads land before their mbarriers are looked at. The
// record comes last: it hands over what is complete.
constexpr auto none = nullptr;
// clang-format off
constexpr Mechanism kMechanisms[] = {
//  begin_launch            begin_block                  end_thread            goes_on                end_block                 end_launch
  {none,                   block_barriers::begin_block, none,                 none,                  none,                     none},
  {shared_names::begin_launch, none,                    none,                 none,                  none,                     none},
  {summary::begin_launch,  none,                        none,                 none,                  none,                     none},
  {trace::begin_launch,    trace::begin_block,          none,                 none,                  none,                     trace::end_launch},
  {async::begin_launch,    none,                        async::end_thread,    none,                  none,                     none},
  {none,                   tensor_loads::begin_block,   none,                 tensor_loads::goes_on, tensor_loads::end_block,  none},
  {none,                   mbarriers::begin_block,      none,                 none,                  mbarriers::end_block,     none},
  {none,                   tensor_stores::begin_block,  none,                 none,                  tensor_stores::end_block, none},
  {none,                   wgmma_state::begin_block,    none,                 none,                  wgmma_state::end_block,   none},
  {none,                   setmaxnreg::begin_block,     none,                 none,                  setmaxnreg::end_block,    none},
  {none,                   named_barriers::begin_block, none,                 none,                  none,                     none},
  {none,                   clusters::begin_block,       clusters::end_thread, none,                  none,                     none},
  {none,                   warps::begin_block,          none,                 warps::goes_on,        none,                     none},
  {watchdog::begin_launch, none,                        none,                 none,                  none,                     watchdog::end_launch},
  {none,                   none,                        none,                 none,                  none,                     kernels_launched::end_launch},
  {none,                   none,                        none,                 none,                  none,                     summary::end_launch},
  {record::begin_launch,   record::begin_block,         none,                 none,                  none,                     record::end_launch},
};
// clang-format on

}  // namespace

void each_mechanism(void (*Mechanism::*moment)()) {
    for (const Mechanism& mechanism : kMechanisms) {
        if (moment == &Mechanism::end_block && run.error) return;
        if (mechanism.*moment) (mechanism.*moment)();
    }
}

bool any_goes_on() {
    for (const Mechanism& mechanism : kMechanisms)
        if (mechanism.goes_on && mechanism.goes_on()) return true;
    return false;
}

}  // namespace emulator
