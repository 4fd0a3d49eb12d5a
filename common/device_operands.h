// The matrices of a product in device memory, on a GPU and on the emulator alike.
#pragma once

#include "common/device.h"
#include "common/operands.h"

template <class In, class Out>
using Operands = OperandsIn<DeviceArray<In>, DeviceArray<Out>>;
