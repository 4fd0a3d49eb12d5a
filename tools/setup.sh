# What ./run and ./test share, sourced by both: installing what is missing, configuring, building.
# shellcheck shell=bash

ROOT=$(dirname -- "$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")")
BUILD_DIR=${BUILD_DIR:-$ROOT/build}
export PYTHONDONTWRITEBYTECODE=1
if [[ -z ${CUDACXX:-} && -x /usr/local/cuda/bin/nvcc ]] && ! command -v nvcc >/dev/null; then
    export CUDACXX=/usr/local/cuda/bin/nvcc
fi

# Ctrl-C: what stands on the terminal's last line goes, be it ^C or a program's progress.
interrupted() {
    [[ ! -t 2 ]] || printf '\r\e[K' >&2
    exit 130
}
trap interrupted INT
trap 'exit 143' TERM

say() { printf '%s: %s\n' "$0" "$*" >&2; }

# fail CODE MESSAGE: ends the program.
fail() {
    say "$2"
    exit "$1"
}

has_nvcc() { command -v "${CUDACXX:-nvcc}" >/dev/null; }
has_gpu() { [[ $(nvidia-smi -L 2>/dev/null) == GPU* ]]; }
has_library() { [[ -e $(LIBRARY_PATH="/usr/local/lib:${LIBRARY_PATH:-}" "${CXX:-g++}" -print-file-name="lib$1") ]]; }

# Prints the name of a Python that has matplotlib: the package's is Debian's own, which need not be the first on the PATH.
plotter() {
    local python
    for python in python3 /usr/bin/python3; do
        ! "$python" -c "import matplotlib" 2>/dev/null || { echo "$python" && return; }
    done
    return 1
}

# Is what the Debian package $1 brings here, from that package or from elsewhere?
has() {
    case $1 in
        cmake) [[ $(printf '%s\n' 3.24 "$(cmake --version | awk 'NR == 1 { print $3 }')" | sort -V | head -n1) == 3.24 ]] ;;
        g++) command -v "${CXX:-g++}" ;;
        ninja-build) command -v ninja || command -v make ;;
        libboost-context-dev) has_library boost_context.so || has_library boost_context.a ;;
        libgtest-dev) has_library gtest.a || has_library gtest.so ;;
        opencl-clhpp-headers) "${CXX:-g++}" -E -x c++ -include CL/opencl.hpp /dev/null ;;
        ocl-icd-opencl-dev) has_library OpenCL.so ;;
        pocl-opencl-icd) compgen -G "${OCL_ICD_VENDORS:-/etc/OpenCL/vendors}/pocl*.icd" ;;
        libopenblas0) [[ $(ldconfig -p 2>/dev/null) == *libopenblas.so.0* ]] ;;
        rocm-device-libs) [[ -e ${HIP_DEVICE_LIB_PATH:-/usr/lib/x86_64-linux-gnu/amdgcn/bitcode}/opencl.bc ]] ;;
        python3-matplotlib) plotter ;;
        *) command -v "$1" ;;
    esac >/dev/null 2>&1
}

# need PACKAGE...: installs through apt, where that is allowed, those whose contents are not here. Afterwards the array
# `missing` names the ones that still are not, and `not_here` is a line that says so.
need() {
    local why="there is no apt-get" as=() log
    list_missing "$@"
    [[ ${#missing[@]} -gt 0 ]] || return 0
    if command -v apt-get >/dev/null; then
        why="that takes root"
        [[ $EUID -eq 0 ]] || as=(sudo -n)
        if "${as[@]}" true 2>/dev/null; then
            say "installing ${missing[*]} (apt-get)"
            as+=(env DEBIAN_FRONTEND=noninteractive apt-get -qq -o Acquire::http::Timeout=15 -o DPkg::Lock::Timeout=60)
            "${as[@]}" update </dev/null >/dev/null 2>&1 || true  # the installation tells whether it mattered
            as+=(install -y --no-install-recommends)
            if ! log=$("${as[@]}" "${missing[@]}" </dev/null 2>&1) && [[ ${#missing[@]} -gt 1 ]]; then
                local package  # one that there is none of holds up the others
                for package in "${missing[@]}"; do "${as[@]}" "$package" </dev/null >/dev/null 2>&1 || true; done
            fi
            why=$(grep -m1 '^E: ' <<<"$log" || echo "apt-get's is too old")
            list_missing "$@"
        fi
    fi
    # shellcheck disable=SC2034  # for the sourcing script
    not_here="missing, and can't be installed here (${why#E: }): ${missing[*]/#cmake/cmake (3.24 or later)}"
}

list_missing() {
    missing=()
    local package
    for package; do has "$package" || missing+=("$package"); done
}

# NVIDIA's OpenCL library is often there without a file that tells the loader of it. Names it in a folder of our own then, beside
# all that /etc names.
find_opencl() {
    [[ -z ${OCL_ICD_VENDORS:-} && $(ldconfig -p 2>/dev/null) == *libnvidia-opencl.so.1* ]] && has_gpu || return 0
    ! grep -qs nvidia /etc/OpenCL/vendors/*.icd || return 0
    export OCL_ICD_VENDORS=$BUILD_DIR/opencl_vendors
    mkdir -p "$OCL_ICD_VENDORS"
    cp /etc/OpenCL/vendors/*.icd "$OCL_ICD_VENDORS" 2>/dev/null || true
    echo libnvidia-opencl.so.1 >"$OCL_ICD_VENDORS/nvidia.icd"
}

# build TARGET...: configures and builds. Shows on stderr what goes wrong, and then ends the program.
build() {
    local how=() log
    command -v ninja >/dev/null && export CMAKE_GENERATOR="${CMAKE_GENERATOR:-Ninja}"  # matters to a new build folder only
    if [[ ! -e $BUILD_DIR/CMakeCache.txt ]]; then
        say "configuring $BUILD_DIR"
    elif ! reusable; then
        say "configuring $BUILD_DIR from scratch: it is of another place, or of tools that are gone"
        how=(--fresh)
    fi
    log=$(cmake -S "$ROOT" -B "$BUILD_DIR" -DCMAKE_TARGET_MESSAGES=OFF --no-warn-unused-cli "-DWARNINGS_ARE_ERRORS=${CI:+ON}" "${how[@]}" 2>&1) || {
        printf '%s\n' "$log" >&2
        fail 1 "build failed"
    }
    cmake --build "$BUILD_DIR" --parallel "$(nproc)" --target "$@" >&2 || fail 1 "build failed"
}

cached() { sed -n "s/^$1:[A-Z]*=//p" "$BUILD_DIR/CMakeCache.txt"; }

# Was the build folder configured for this place, with tools that still are here?
reusable() {
    local cuda
    cuda=$(cached CMAKE_CUDA_COMPILER)
    [[ $(cached CMAKE_HOME_DIRECTORY) -ef $ROOT && $(cached CMAKE_CACHEFILE_DIR) -ef $BUILD_DIR &&
        -x $(cached CMAKE_MAKE_PROGRAM) && -x $(cached CMAKE_CXX_COMPILER) &&
        (-z $cuda || $cuda == *NOTFOUND || -x $cuda) ]]
}
