#include "common.h"
// As many loads as chase makes and as far apart, but none waits for another's data: 16 are on their way at once. One work item.
kernel void chase_ahead(global const uint *restrict next, global uint *dst, uint mask, uint steps) {
  uint sum = 0;
  for (uint i = lid_x(); i < steps; i += 16)
#pragma unroll
    for (uint k = 0; k < 16; k++)
      sum = sum * 31 + next[(i + k) * 2654435761u & mask];
  dst[gid_x()] = sum;
}
