#pragma once  // forwards until all others use the new name
#include "common/roofline.h"
