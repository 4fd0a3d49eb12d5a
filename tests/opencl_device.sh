#!/bin/sh
# opencl_device.sh PATTERN PROGRAM MxNxK...: verifies the shapes on the first OpenCL device whose line in --list matches PATTERN.
# Exits with 77 where there is none.
pattern=$1 program=$2
shift 2
device=$("$program" --list | sed -n "/$pattern/{s/^[* ]*\([0-9]*\) .*/\1/p;q}")
[ "$device" ] || { echo "there is no OpenCL device here that matches '$pattern'"; exit 77; }
exec "$(dirname "$0")/shapes.sh" "$@" -- "$program" --device "$device"
