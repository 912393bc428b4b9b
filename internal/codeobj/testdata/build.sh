#!/bin/sh
# Builds the objects of this folder from its sources, with clang, lld and LLVM's tools of version 19.
set -eu
cd "$(dirname "$0")"
V=${V:-19}
CL="clang-$V -target amdgcn-amd-amdhsa -nogpulib -O2 -g -ffile-compilation-dir=. -mllvm -disable-promote-alloca-to-vector -mllvm -disable-promote-alloca-to-lds"
for v in 4 5 6; do
  $CL -x cl -cl-std=CL2.0 -mcpu=gfx1100 -mcode-object-version=$v -o inline_v$v.co inline.cl
done
$CL -x cl -cl-std=CL2.0 -mcpu=gfx90a:xnack- -mcode-object-version=5 -gz=zlib -o inline_gfx90a.co inline.cl
$CL -x c++ -mcpu=gfx942:sramecc+:xnack- -mcode-object-version=4 -o mangled.co mangled.cpp
clang-$V -x cl -cl-std=CL2.0 -target amdgcn-amd-amdhsa -nogpulib -O2 -mcpu=gfx11-generic -mcode-object-version=6 -o generic.co inline.cl
clang-$V -x cl -cl-std=CL2.0 -target amdgcn-amd-amdhsa -nogpulib -O2 -mcpu=gfx1100 -mcode-object-version=5 -o markers.co markers.cl
: >empty
bundle() {
  clang-offload-bundler-$V -type=o -bundle-align=4096 "$@" \
    -targets=host-x86_64-unknown-linux-gnu-,hipv4-amdgcn-amd-amdhsa--gfx90a:xnack-,hipv4-amdgcn-amd-amdhsa--gfx942:sramecc+:xnack- \
    -input=empty -input=inline_gfx90a.co -input=mangled.co
}
bundle -output=plain.bundle
bundle -compress -output=zstd.bundle
# A host object whose section holds a compressed and a plain bundle, as a linker leaves those of two translation units.
{ cat zstd.bundle; head -c 100 /dev/zero; cat plain.bundle; } >two.bundle
echo 'int main(void) { return 0; }' | clang-$V -x c -c -o host.o -
llvm-objcopy-$V --add-section .hip_fatbin=two.bundle --strip-unneeded host.o
gzip -9nf host.o
rm empty two.bundle plain.bundle zstd.bundle
