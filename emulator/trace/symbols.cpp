// The functions and variables of the running program, from the symbol table of its own file.

#include "emulator/trace/symbols.h"

#include <cxxabi.h>
#include <elf.h>
#include <link.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>

#include "emulator/include/cuda_runtime.h"
#include "emulator/trace/tracing.h"

extern "C" char __executable_start, __data_start, _end;  // by the linker

namespace emulator {
namespace {

using Header = ElfW(Ehdr);
using Section = ElfW(Shdr);
using Entry = ElfW(Sym);

constexpr auto kShared = "emulator_shared_";  // how rewrite_launches.py names __shared__ arrays

struct Table {
    std::vector<char> names;
    std::vector<Symbol> symbols;
    uintptr_t load_address = 0;  // of a position-independent program

    Table() {
        std::ifstream file("/proc/self/exe", std::ios::binary);
        const auto read = [&](size_t offset, auto* to, size_t count) {
            file.seekg(std::streamoff(offset));
            file.read(reinterpret_cast<char*>(to), std::streamsize(count * sizeof *to));
        };
        Header header{};
        read(0, &header, 1);
        if (!file) return;
        if (header.e_type == ET_DYN)
            load_address = reinterpret_cast<uintptr_t>(&__executable_start);
        std::vector<Section> sections(header.e_shnum);
        read(header.e_shoff, sections.data(), sections.size());
        const auto table = std::find_if(sections.begin(), sections.end(),
                                        [](const Section& s) { return s.sh_type == SHT_SYMTAB; });
        if (!file || table == sections.end() || table->sh_link >= sections.size()) return;
        std::vector<Entry> entries(table->sh_size / sizeof(Entry));
        read(table->sh_offset, entries.data(), entries.size());
        names.resize(sections[table->sh_link].sh_size);
        read(sections[table->sh_link].sh_offset, names.data(), names.size());
        if (!file) return;
        for (const Entry& e : entries) {
            const int type = e.st_info & 15;
            if (e.st_size == 0 || e.st_shndx == SHN_UNDEF || e.st_name >= names.size()) continue;
            if (type != STT_OBJECT && type != STT_FUNC) continue;
            size_t size = e.st_size;
            // clang may split the redzone off the array, which is then named ...s.0.
            const char* const shared = std::strstr(&names[e.st_name], kShared);
            if (compiled_for_tracing && shared && !std::strchr(shared, '.'))
                size -= std::min(size, kSharedRedzone);
            symbols.push_back(
                {uintptr_t(e.st_value) + load_address, size, type == STT_FUNC, &names[e.st_name]});
        }
        std::sort(symbols.begin(), symbols.end(),
                  [](const Symbol& a, const Symbol& b) { return a.begin < b.begin; });
    }
};

const Table& table() {
    static const Table& table = *new Table;  // never destroyed: code that runs at exit may need it
    return table;
}

}  // namespace

const std::vector<Symbol>& symbols() { return table().symbols; }
uintptr_t load_address() { return table().load_address; }

bool is_data(uintptr_t address) {
    const auto begin = reinterpret_cast<uintptr_t>(&__data_start);
    return address - begin < reinterpret_cast<uintptr_t>(&_end) - begin;
}

// Any static variable of a function may be a kernel's array: a struct without a name and an array
// in a header cannot be told from one.
bool is_shared_array(const Symbol& symbol) {
    if (symbol.function || !is_data(symbol.begin)) return false;
    return std::strstr(symbol.mangled, kShared) || std::strncmp(symbol.mangled, "_ZZ", 3) == 0;
}

bool belongs_to_kernel(const Symbol& symbol, const Symbol* kernel) {
    if (symbol.function || !is_data(symbol.begin)) return false;
    if (std::strstr(symbol.mangled, kShared)) return true;
    return kernel && std::strncmp(kernel->mangled, "_Z", 2) == 0 &&
           std::string(symbol.mangled).find(std::string("_ZZ") + (kernel->mangled + 2) + "E") == 0;
}

const Symbol* find_symbol(uintptr_t address) {
    const auto after =
        std::upper_bound(symbols().begin(), symbols().end(), address,
                         [](uintptr_t a, const Symbol& symbol) { return a < symbol.begin; });
    if (after == symbols().begin()) return nullptr;
    const Symbol& symbol = *std::prev(after);
    return address - symbol.begin < symbol.size ? &symbol : nullptr;
}

// "matmul<true>", from "void (anonymous namespace)::matmul<true>(int)", or from a variable in that
// function.
std::string function_of(const Symbol& symbol) {
    std::string name = name_of(symbol);
    if (name.find("void ") == 0) name.erase(0, 5);
    for (size_t at; (at = name.find("(anonymous namespace)::")) != name.npos;) name.erase(at, 23);
    for (size_t at = 0, depth = 0; at < name.size(); ++at) {  // matmul<(Mode)1>(int)
        depth += (name[at] == '<') - (name[at] == '>');
        if (depth == 0 && name[at] == '(') return name.substr(0, at);
    }
    return name;
}

std::string short_name(const Symbol& symbol) {
    if (symbol.function) return function_of(symbol);
    const std::string name = name_of(symbol), shared = "::" + std::string(kShared);
    if (const size_t scope = name.rfind(shared); scope != name.npos)
        return name.substr(scope + shared.size());
    return name.substr(name.rfind(':') + 1);
}

std::string name_of(const Symbol& symbol) {
    char* const demangled = abi::__cxa_demangle(symbol.mangled, nullptr, nullptr, nullptr);
    const std::string name = demangled ? demangled : symbol.mangled;
    std::free(demangled);
    return name;
}

}  // namespace emulator
