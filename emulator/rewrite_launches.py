#!/usr/bin/env python3
"""rewrite_launches.py IN.cu OUT.cpp [FOLDER...]: rewrites what is not C++ in a .cu file, line by line.

Example:  python3 emulator/rewrite_launches.py 03_shared_blocking/matmul.cu matmul.cpp

Headers that the file includes from its own folder or from a FOLDER, as a compiler finds them with -I, are rewritten,
too: one in which something changes gets a copy beside OUT.cpp. OUT.cpp.d lists them.

    matmul<8><<<grid, block>>>(M)      ->   emulator::Kernel(EMULATOR_KERNEL(matmul<8>), grid, block)(M)
    extern __shared__ float s[];       ->   float* s = emulator::dynamic_shared<float>();
    __shared__ float s[8];             ->   static emulator::Shared<float[8]> emulator_shared_s;
                                            static auto& s = emulator_shared_s.value;
                                            (of a cluster's kernel: auto& s = emulator::of_rank(...).value;)
    auto a = reinterpret_cast<T>(s);        stays, if s is such memory
    __launch_bounds__(256) k(int n) {  ->   __launch_bounds__(256) k(int n) {EMULATOR_BOUNDS(256);
    CLUSTER_DIMS(2) k(int n) {         ->   CLUSTER_DIMS(2) k(int n) {EMULATOR_CLUSTER(2);     and so __cluster_dims__
    __global__ void k(const T& t) {    ->   __global__ void k(const T& t) {EMULATOR_REFERENCE(t);
    k(T* __restrict__ a, T* __restrict__ b) {   ->   ... {EMULATOR_RESTRICT("a, b", a, b);
    return;                            ->   return emulator::note_return();     in a kernel
    asm("..." : outputs : inputs);     ->   emulator::inline_ptx(...): inline_ptx.py

A launch names a kernel, an instance of a template, or a variable that holds one. After each of the three declarations
of memory the kernel calls a function of include/shared_arrays.h that passes on the array's name and extents. A struct
that is seen there, or whose alignment is given, gets a function that does so for its members: the latter may be a
member of the former, from another file. The last line names the kernels.

The script refuses what the emulator cannot run, with file and line. In a header the compiler refuses it, unless an #if
leaves it out. See REFERENCE.md. Exit codes: 0 written, 1 refused
"""
import pathlib
import re
import sys

HEADERS = pathlib.Path(__file__).absolute().parent / "include"
EMULATOR = HEADERS.parent.resolve()
sys.path.append(str(HEADERS.parent))
sys.dont_write_bytecode = True  # writes nothing beside the sources
import inline_ptx  # noqa: E402
from cuda_text import (  # noqa: E402
    Refused, blank, body_of, end_of_configuration, joined, kernels, matching, members, outside, parts, returns,
    start_of_name)

# Headers of CUDA. The emulator has those for which include/ has a file of the same name.
CUDA_HEADER = re.compile(r"cooperative_groups|cuda/|cuda[_.A-Z]|mma\.h|crt/|nv/|cub/|thrust/|cute/|cutlass/|cublas|"
                         r"curand|texture|surface|device_|nvrtc|cufft|cusparse|cusolver")
# Headers of NVIDIA's samples. For a program that comes without them, samples/ has what most programs use of them.
SAMPLES = {"helper_math.h": "helper_math.h", "cutil_math.h": "helper_math.h", **dict.fromkeys(
    ("helper_cuda.h", "helper_functions.h", "helper_timer.h", "helper_string.h", "helper_image.h"), "helper_cuda.h")}
# The contents of these headers are in another one here.
IN_OTHERS = {
    **dict.fromkeys(("device_launch_parameters.h", "device_functions.h", "device_types.h", "driver_types.h",
                     "host_defines.h", "builtin_types.h", "vector_functions.h", "cuda_device_runtime_api.h",
                     "cuda_profiler_api.h", "math_functions.h", "cuda_runtime_api.h"), "cuda_runtime.h"),
    **dict.fromkeys(("cuda/barrier", "cuda/pipeline", "cuda/atomic", "cooperative_groups/memcpy_async.h"),
                    "cuda_async.h"),
    "cuda/ptx": "cuda_ptx.h", "nvtx3/nvToolsExt.h": "nvToolsExt.h", "cuda/cmath": "cuda_std.h",
    "cublas.h": "cublas_v2.h",
    **dict.fromkeys(("cooperative_groups/reduce.h", "cooperative_groups/scan.h"), "cooperative_groups.h")}
CANNOT_RUN = "the CUDA emulator cannot run"
EXTERN_FORM = "this form of extern __shared__ (write: extern __shared__ float name[];)"
UNSUPPORTED = [
    (re.compile(r"\b(cudaTextureObject_t|cudaSurfaceObject_t|texture\s*<|tex[123]D\w*\s*[<(])"),
     "textures and surfaces"),
    (re.compile(r"\bcudaLaunchKernelExC\b"),
     "cudaLaunchKernelExC, which lacks the arguments' types: cudaLaunchKernelEx"),
]
EXTERN_SHARED = re.compile(r"\b(?:extern\s+(?:volatile\s+)?__shared__|__shared__\s+extern|"
                           r"extern(?=[\w\s]+\s__shared__\s))\s+"
                           r"(?:(?:__align__|alignas)\s*\((?P<align>[^()]*)\)\s*)?"
                           r"(?P<type>[\w:<>,\s]*?[\w>](?:\s*\*)*)(?:\s+__shared__)?\s*"
                           r"(?<=[\s*])(?P<name>\w+)\s*(?:(?P<array>\[\s*\])(?P<row>(?:\s*\[[^][;]+\])*))?\s*;")
SHARED = re.compile(r"(?<!extern )(?<!extern volatile )\b__shared__\s+"
                    r"(?P<align>(?:alignas|__align__)\s*\((?:[^()]|\([^()]*\))*\)\s*)?"
                    r"(?P<type>(?!extern)[\w:]+(?:\s*<[^;=<>]*>)?(?:\s+[a-zA-Z]\w*)*)\s+"
                    r"(?P<arrays>\w+\s*(?:\[[^;={}]+)?(?:,[^;={}]*)?);")
CAST = re.compile(r"(?<=[;{}])\s*(?:const\s+)?[\w:]+(?:<[^;=]*>)?[\s&*]+(?:const\s+)?(?P<name>\w+)\s*=\s*"
                  r"(?P<object>\*?)\s*reinterpret_cast\s*<(?P<type>[^;=]*)>\s*\(\s*(?P<base>\w+)[^;]*\)\s*;")
# A __device__ function has a parenthesis before its body; a variable has none before its ;, = or {.
WORDS = r"[\w\s:<>,*&]*\w\s*"
DEVICE = re.compile(r"(?<!_)\b__device__(?=\s+(?!__constant__)"
                    rf"(?P<what>{WORDS}(?:(?:\[[^\];]*\]\s*)+(?:,{WORDS})?)*)[;={{])")
# A kernel that the host passes as a void* would lose its type, so the cast is dropped.
LAUNCHED = re.compile(r"\bcudaLaunch(?:Cooperative)?Kernel\s*\(\s*(\(\s*(?:const\s+)?void\s*\*\s*\)|"
                      r"(?:reinterpret|static)_cast\s*<\s*(?:const\s+)?void\s*\*\s*>)")
# What nvcc accepts and C++ does not: a second storage class, and a name that g++'s own headers use.
DROPPED = re.compile(r"\bstatic(?=\s+(?:inline\s+)?__(?:global|shared)__)|(?<=__global__)(\s+)static\b|"
                     r"\bextern(?=\s+__global__)|(?<!\()\b__noinline__\b(?!\s*\))|"
                     r"\b__constant__(?=\s+(?:static\s+)?const(?:expr)?\b)|(?<=const )__constant__\b")


def edits(text, code, elsewhere):
    """Yields (position, length, replacement) for everything that changes. elsewhere: the names of the kernels in the
    files that this one includes."""
    dynamic, kinds = set(), ""  # names of dynamic shared memory; types of all objects in shared memory
    for m in DROPPED.finditer(code):
        yield m.start(), m.end() - m.start(), "__attribute__((noinline))" if "noinline" in m[0] else m[1] or ""
        if m[0] == "extern" and (of_c := re.compile(r'\s*"C"').match(text, m.end())):
            yield m.end(), of_c.end() - m.end(), ""
    for m in LAUNCHED.finditer(code):
        yield m.start(1), len(m[1]), " " * len(m[1])
    for m in DEVICE.finditer(code):
        declared = re.split("[;{}]", code[:m.start()])[-1] + m["what"]
        is_variable = not re.search(r"\boperator\b|\breturn\b|\b__managed__\b", declared)
        if is_variable and ("*" in m["what"] or not re.search(r"\bconst", m["what"])):
            yield m.start(), len(m[0]), "EMULATOR_DEVICE"
    for m in re.finditer(r"\bint\s+main\s*\(", code):
        yield m.start(), 0, "EMULATOR_HOST "
    several = len({m["name"] for m in EXTERN_SHARED.finditer(code)}) > 1
    for m in EXTERN_SHARED.finditer(code):
        kind, name, lines = " ".join(m["type"].split()), m["name"], "\n" * m.group().count("\n")
        row = " ".join((m["row"] or "").split())
        recorded = f' emulator::record_extern("{name}", __FILE__, __LINE__);' if several else ""
        if outside(code[:m.start()]):  # declared for the whole file
            if not m["array"]:
                raise Refused(m.start(), EXTERN_FORM)
            recorded = recorded and f" static const bool emulator_extern_{name} ={recorded}"
            yield m.start(), len(m.group()), f"static emulator::DynamicShared<{kind}{row}> {name};{recorded}{lines}"
            continue
        dynamic.add(name)
        kinds += f" {kind}"
        declared = f"{kind} (*{name}){row}" if row else f"{kind}* {name}" if m["array"] else f"{kind}& {name}"
        memory, first = ("", name) if m["array"] else ("*", f"&{name}")
        yield m.start(), len(m.group()), (
            f"{declared} = {memory}emulator::dynamic_shared<{kind}{row}>({m['align'] or ''}); "
            f'emulator::record_pointer("{name}", {first});{recorded}{lines}')
    for m in CAST.finditer(code):
        if m["base"] in dynamic:
            name, pointer = m["name"], ("&" if m["object"] else "") + m["name"]
            dynamic.add(name)
            kinds += f" {m['type']}"
            yield m.end(), 0, f' emulator::record_pointer("{name}", {pointer});'
    of_clusters = [body for m in re.finditer(r"\b(?:__cluster_dims__|CLUSTER_DIMS)\s*(?=\()", code)
                   if (body := body_of(code, m.end()))]
    for m in SHARED.finditer(code):
        arrays = re.findall(r"(\w+)\s*((?:\[[^\]]*\]\s*)*)(?:,|$)", m["arrays"])
        align, kind = m["align"] or "", " ".join(m["type"].split())
        own = any(begin < m.start() < end for begin, end in of_clusters)  # each block of a cluster has its own
        of_block = "auto& {0} = emulator::of_rank({1})" if own else "static auto& {0} = {1}"
        declared = (f"{align}static emulator::Shared<{kind}{' '.join(size.split())}> emulator_shared_{name}; "
                    f"{of_block.format(name, f'emulator_shared_{name}')}.value; "
                    f'emulator::record_shared("{name}", {name});'
                    for name, size in arrays)
        lines = "\n" * (m.group().count("\n") - align.count("\n"))
        kinds += f" {kind}"
        yield m.start(), len(m.group()), " ".join(declared) + lines
    for m in re.finditer(r"\bstruct\s+(alignas\s*\([^()]*\)\s*)?(\w+)\s*(\{)", code):
        end = matching(code, m.start(3), "{", "}", 1)
        if end > 0 and (m[1] or m[2] in re.findall(r"\w+", kinds)):
            calls = "".join(f' emulator::record_member(of, i, "{name}", {name});'
                            for name in members(code[m.end():end]))
            yield end, 0, f" void emulator_members(const char* of, int i) const {{{calls} }} " if calls else ""
    for m in re.finditer(r"\b(?:__launch_bounds__|__cluster_dims__|CLUSTER_DIMS)\s*(\()", code):
        end = matching(code, m.start(1), "(", ")", 1)
        if body := body_of(code, m.start(1)):
            name = "EMULATOR_BOUNDS" if "bounds" in m[0] else "EMULATOR_CLUSTER"
            yield body[0] + 1, 0, f"{name}{' '.join(code[m.start(1):end + 1].split())};"
    declared = list(kernels(code))
    for _, parameters in declared:
        for at, parameter in parts(code, parameters):
            if re.search(r"\bCUtensorMap\s+\w+", parameter) and "__grid_constant__" not in parameter:
                raise Refused(at, "a tensor map that is not a const __grid_constant__ CUtensorMap")
            reference, body = re.search(r"[^&]&\s*(\w+)$", parameter), body_of(code, parameters)
            if reference and body and "#" not in code[at:body[0]]:  # an #if may choose another head
                yield body[0] + 1, 0, f"EMULATOR_REFERENCE({reference[1]});"
        pointers = [m[1] for _, parameter in parts(code, parameters)
                    if (m := re.search(r"\*\s*__restrict(?:__)?\s+(\w+)$", parameter))]
        body = body_of(code, parameters)
        if len(pointers) > 1 and body and "#" not in code[parameters:body[0]]:
            listed = ", ".join(pointers)
            yield body[0] + 1, 0, f'EMULATOR_RESTRICT("{listed}", {listed});'
        for at in returns(code, parameters):
            yield at, 0, " emulator::note_return()"
    declared = dict(declared)
    code = re.sub(r"\\(?=\n)", " ", code)  # a launch in a macro goes on in the next line
    for m in re.finditer(r"<<<", code):
        name = start_of_name(code, m.start())
        if name is None:
            raise Refused(m.start(), "no kernel's name before <<<")
        launched = re.match(r"[\w:]*", code[name:])[0]
        chosen = " ".join(re.findall(rf"\b{launched}\s*=([^;]*);", code))  # if `launched` is a variable
        for word in re.findall(r"\w+", f"{launched} {chosen}"):
            function = re.search(rf"\bvoid\s+(?:__launch_bounds__\s*\([^()]*\)\s*)?{word}\s*\(", code)
            if function and word not in declared and word not in elsewhere:
                raise Refused(m.start(), f"a launch of {word}, which is not __global__")
        close, after = end_of_configuration(code, m.end())
        configuration = code[m.end():close]
        while (outer := re.sub(r"\([^()]*\)|\{[^{}]*\}", "", configuration)) != configuration:
            configuration = outer
        if "," not in configuration and not re.fullmatch(r"\s*[A-Z_0-9]+\s*", configuration):  # a macro may hold both
            raise Refused(m.start(), "a launch without its number of threads: kernel<<<blocks, threads>>>")
        if not re.match(r"\s*\(", code[after:]):
            raise Refused(close, "no arguments after a launch's >>>")
        begin = code.index("(", after)
        parameters = declared.get(launched.rpartition(":")[2])
        takes = [parameter for _, parameter in parts(code, parameters)] if parameters else []
        for i, (at, argument) in enumerate(parts(code, begin)):  # a null pointer keeps its type
            if argument == "NULL" or i < len(takes) and "*" in takes[i] and argument in ("0", "{}"):
                yield at, len(argument), "nullptr"
            elif code[at] == "{":
                parameter = i < len(takes) and re.fullmatch(r"(?:const\s+)?([\w:]+)\s+(?:const\s+)?\w+", takes[i])
                if not parameter or re.search(rf"\b(?:class|typename)\s+{parameter[1]}\b", code):
                    raise Refused(at, "a launch's argument in braces without a type (write: T{...})")
                yield at, 0, parameter[1]
        yield name, 0, "emulator::Kernel(EMULATOR_KERNEL("
        yield m.start(), 3, "), "
        yield close, 3, ")"


def includes(text, code):
    """Yields the match of each #include that is not in a comment: its bracket or quote, and the name."""
    for m in re.finditer(r'^[ \t]*#[ \t]*include[ \t]*([<"])([^">\n]+)[">]', text, re.MULTILINE):
        if code[m.start():m.end()].strip():
            yield m


def rewrite(text, included=lambda name, quoted: None, is_header=False, elsewhere=()):
    """Rewrites a file. included(name, quoted): the file to include instead, or the same; None: it is not one of the
    program's. elsewhere: the kernels' names in these files. What cannot be run is refused, in a header only where it is
    compiled."""
    text = joined(text)
    code, changes = blank(text), []
    for m in includes(text, code):
        if here := IN_OTHERS.get(m[2], "cuda_std.h" if m[2].startswith("cuda/std/") else None):
            changes.append((m.start(2), len(m[2]), here))
        elif other := included(m[2], m[1] == '"'):
            if other != m[2]:
                changes.append((m.start(2) - 1, len(m[2]) + 2, f'"{other}"'))
        elif m[2] in SAMPLES:
            changes.append((m.start(2), len(m[2]), f"samples/{SAMPLES[m[2]]}"))
        elif CUDA_HEADER.match(m[2]) and not (HEADERS / m[2]).exists():
            if not is_header:
                raise Refused(m.end() - 1, f"<{m[2]}>")
            changes.append((m.start(), m.end() - m.start(), f'#error "{CANNOT_RUN} <{m[2]}>"'))
    for pattern, what in UNSUPPORTED:
        for m in pattern.finditer(code):
            if not is_header:
                raise Refused(m.start(), what)
            changes.append((m.start(), 0, f'_Pragma("GCC error \\"{CANNOT_RUN} {what}\\"") '))
    changes += inline_ptx.edits(text, code, not is_header)
    for position, length, replacement in sorted([*changes, *edits(text, code, elsewhere)], reverse=True):
        text = text[:position] + replacement + text[position + length:]
    if m := re.search(r"\bextern\s+__shared__|\b__shared__\s+extern", blank(text)):
        raise Refused(m.start(), EXTERN_FORM)
    return text


class Program:
    """A .cu file and the files that it includes, except those of the emulator and of the system."""

    def __init__(self, source, target, folders):
        self.source, self.target, self.folders = source, target, [HEADERS, *folders]
        self.compiled = {}  # {file that was read: file that the compiler reads, a copy if something changes}
        self.kernels = {}  # {name: whether it is in the source itself}
        self.launched = set()  # names before <<<>>>

    def found(self, name, quoted, includer):
        """The file that the compiler would find for an #include; None: one of the emulator's or of the system's."""
        if not quoted and not name.endswith((".h", ".cuh", ".hpp")):
            return None
        for folder in [includer.parent] * quoted + self.folders:
            file = (folder / name).resolve()
            if file.is_file():
                return None if EMULATOR in file.parents else file
        return None

    def included(self, name, quoted, includer):
        """What an #include in a copy names; None: none of the program's files. A header that changes has a copy beside
        the program's."""
        ptx = re.search(r"common/ptx/\w+\.cuh$", name)
        if ptx and (HEADERS / ptx[0]).is_file():
            return str(HEADERS / ptx[0])  # nvcc's version may lie beside the program or its copy
        file = self.found(name, quoted, includer)
        if not file:
            return None
        if file not in self.compiled:
            self.write(file, self.target.with_name(f"{self.target.name}.{len(self.compiled)}.{file.name[-40:]}"))
        if self.compiled[file] != file:
            return self.compiled[file].name
        return str(file) if (includer.parent / name).resolve() == file else name  # it is not beside the copy

    def write(self, file, copy):
        """Writes the copy, unless it would be the same. A file counts as changed while it is read. If files include
        each other, one that includes it in turn therefore names its copy, and so changes as well."""
        self.compiled[file.resolve()] = copy
        try:
            # Like nvcc, accept line ends of Windows, a byte order mark, and comments in Shift-JIS.
            text = file.read_text(encoding="utf-8-sig", errors="surrogateescape")
            result = rewrite(text, lambda name, quoted: self.included(name, quoted, file), file != self.source,
                             self.kernels)
        except OSError as error:
            sys.exit(f"rewrite_launches.py: {file}: {error}")
        except Refused as refused:
            line = text.count("\n", 0, refused.position) + 1
            sys.exit(f"{file}:{line}: error: {CANNOT_RUN} {refused.message}")
        code = blank(text)
        self.kernels.update((kernel, file == self.source) for kernel, _ in kernels(code))
        self.launched.update(re.findall(r"(\w+)\s*(?:<[^;{}()]*>\s*)?<<<", code))
        self.launched.update(re.findall(r"\bcudaLaunchKernelEx\s*\([^,;]*,\s*(?:\w+\s*::\s*)*(\w+)", code))
        if file != self.source and result == text:
            self.compiled[file.resolve()] = file
            return
        # A kernel in a header that is launched nowhere is only used to query its occupancy.
        names = {kernel for kernel, here in self.kernels.items() if here or kernel in self.launched}
        if file == self.source and names:
            named = "".join(f'"{kernel}", ' for kernel in sorted(names))
            result += f"\n[[maybe_unused]] static const bool emulator_kernels = emulator::name_kernels({{{named}}});\n"
        # nvcc includes cuda_runtime.h by itself. With the #line every later diagnostic names the original.
        name = re.sub(r'([\\"])', r"\\\1", str(file))
        result = f'#include <cuda_runtime.h>\n#line 1 "{name}"\n{result}'
        copy.write_text(result, encoding="utf-8", errors="surrogateescape")


def rewrite_file(source, target, folders):
    """Writes the target, and beside it the headers that change. Returns {file that was read: file that the compiler
    reads}."""
    program = Program(source, target, folders)
    program.write(source, target)
    return program.compiled


def main():
    if sys.argv[1:] in (["-h"], ["--help"]):
        print(__doc__.strip())
        return
    if len(sys.argv) < 3:
        sys.exit("usage: rewrite_launches.py IN.cu OUT.cpp [FOLDER...]")
    source, target, *folders = map(pathlib.Path, sys.argv[1:])
    compiled = rewrite_file(source, target, folders)
    listed = " ".join(str(file).replace(" ", "\\ ") for file in compiled)
    pathlib.Path(f"{target}.d").write_text(f"{target}: {listed}\n", errors="surrogateescape")  # for CMake


if __name__ == "__main__":
    main()
