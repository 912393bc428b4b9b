#!/bin/sh
# Builds every kernel for every target into <target>/<file>.co. Needs clang with the AMDGPU target and lld, version 22 or 19
# (19 knows no gfx950: skipped). CLANG=..., TARGETS="gfx90a ..." and OUT=folder override.
set -eu
cd "$(dirname "$0")"
CLANG=${CLANG:-$(command -v clang-22 || command -v clang-19)}
TARGETS=${TARGETS:-gfx90a gfx942 gfx950 gfx1100 gfx1151 gfx1200 gfx1201}
OUT=${OUT:-.}
# Relative debug paths: the same compiler gives the same bytes in any folder.
FLAGS="-x cl -cl-std=CL2.0 -target amdgcn-amd-amdhsa -nogpulib -O2 -g -ffile-compilation-dir=. -I."
# clang 21 and later keep a copy of each kernel's body as a function, which refers to LDS it does not own: dropped at the link.
LINK="-ffunction-sections -Wl,--gc-sections -Wl,--version-script=exports.map -Wl,-z,dead-reloc-in-nonalloc=.debug_*=0xffffffffffffffff"
for t in $TARGETS; do
  if ! "$CLANG" $FLAGS -mcpu="$t" -fsyntax-only empty.cl 2>/dev/null; then
    echo "$CLANG does not know $t: skipped" >&2
    continue
  fi
  mkdir -p "$OUT/$t"
  for f in *.cl; do
    "$CLANG" $FLAGS -mcpu="$t" -Wall -Werror -fsyntax-only "$f"
    "$CLANG" $FLAGS -mcpu="$t" -w $LINK "$f" -o "$OUT/$t/${f%.cl}.co"
  done
done
