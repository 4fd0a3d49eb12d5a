// Constants under the names of CUDA's math_constants.h.
#pragma once

#include <cmath>

#define CUDART_INF_F HUGE_VALF
#define CUDART_NAN_F NAN
#define CUDART_MAX_NORMAL_F 3.402823466e38f
#define CUDART_INF HUGE_VAL
#define CUDART_NAN double(NAN)
#define CUDART_PI_F 3.141592654f
#define CUDART_PI 3.1415926535897931e+0
#define CUDART_PIO2_F 1.570796327f
#define CUDART_PIO4_F 0.785398163f
#define CUDART_SQRT_HALF_F 0.707106781f
#define CUDART_SQRT_TWO_F 1.414213562f
#define CUDART_L2E_F 1.442695041f
#define CUDART_LN2_F 0.693147181f
