#include "common.h"
// Wave 0 of each group works `rounds` times as long as the others between barriers.
kernel void barrier_imbalance(global uint *dst, uint rounds) {
  local uint t[256];
  uint v = gid_x();
  for (uint k = 0; k < 8; k++) {
    uint n = lid_x() < 32 ? rounds : 4;
    for (uint r = 0; r < n; r++) v = v * 1664525u + 1013904223u;
    t[lid_x()] = v;
    sync();
    v += t[(lid_x() + 32) & 255];
    sync();
  }
  dst[gid_x()] = v;
}
