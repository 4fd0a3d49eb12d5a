#!/bin/sh
# debug_build.sh ROOT NVCC SOURCE: builds SOURCE for a debugger (nvcc -G: nothing is kept in registers) and verifies it on the GPU.
# An address that is aligned by luck, or that lies in a register elsewhere, is used as it stands. 77 without a GPU.
set -e
nvidia-smi -L 2>/dev/null | grep -q '^GPU' || { echo "no GPU" && exit 77; }
program=$(mktemp)
trap 'rm -f "$program"' EXIT
"$2" -g -G -std=c++17 -arch=native -I"$1" "$3" -o "$program" -lcublas
"$(dirname "$0")"/shapes.sh 7x5x3 130x257x9 129x132x24 -- "$program"
