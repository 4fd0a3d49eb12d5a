// The types of pointers to functions of the driver API.
#pragma once

#include "cuda.h"

using PFN_cuTensorMapEncodeTiled_v12000 = decltype(&cuTensorMapEncodeTiled);
