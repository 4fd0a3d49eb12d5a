#!/bin/sh
# shapes.sh MxNxK... -- command...: runs the command with -m M -n N -k K --verify-only for each shape; stops at the first
# that fails, with its exit code.
shapes=
while [ "$1" != -- ]; do
    shapes="$shapes $1"
    shift
done
shift
for shape in $shapes; do
    nk=${shape#*x}
    "$@" -m "${shape%%x*}" -n "${nk%x*}" -k "${nk#*x}" --verify-only || exit
done
