#include "common.h"
// Marks what it does, as AMD's SQTT instrument pass would. Spans: load, mix, inside mix a point with each round's number, store.
#ifdef __AMDGCN__
// The map that names the markers (docs/markers.md), written by hand. `mixing` and `store` have ids that s_ttracedata_imm has no room for.
__constant const char map[] __attribute__((section(".sqtt_funcmap"), used, visibility("default"))) =
    "K:markers@markers.cl:36\n"
    "U:1:load\n"
    "F:2:mix@markers.cl:26\n"
    "P:70:round\n"
    "R:70:extra_payload_count=1\n"
    "U:100:store\n";
#define word(v) __builtin_amdgcn_s_ttracedata(v)
#if __gfx9__ || __gfx90a__ || __gfx942__ || __gfx950__
#define mark(v) word(v) // CDNA has no other form
#else
#define mark(v) __builtin_amdgcn_s_ttracedata_imm(v)
#endif
// The value is there before the marker, and what uses it comes after.
#define here(v) __asm__ volatile("" : "+v"(v)::"memory")
#else
#define word(v)
#define mark(v)
#define here(v)
#endif

static inline uint mix(uint v, uint rounds) {
  for (uint r = 0; r < rounds; r++) {
    word(70 << 2);
    word(r);
    v = (v * 1664525u + 1013904223u) ^ v >> 13;
    here(v);
  }
  return v;
}

kernel void markers(global const uint *src, global uint *dst, uint rounds) {
  uint i = gid_x();
  here(i);
  mark(1 << 2 | 2); // enter load
  uint v = src[i];
  here(v);
  mark(2 << 2 | 3); // leave it, enter mix
  v = mix(v, rounds);
  word(100 << 2 | 3); // leave mix, enter store
  dst[i] = v;
  __asm__ volatile("" ::: "memory");
  mark(1); // leave store
}
