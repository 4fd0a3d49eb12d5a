// Reads the text of an asm statement: labels, declarations of registers, and instructions.

#include "emulator/ptx/ptx_reader.h"

#include <cstdlib>
#include <cstring>
#include <map>
#include <sstream>

#include "emulator/ptx/ptx_table.h"

namespace emulator {
namespace {

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '$'; }

std::string without_comments(const char* text) {
    std::string kept;
    for (; *text; ++text) {
        if (std::strncmp(text, "//", 2) == 0) {
            while (text[1] && text[1] != '\n') ++text;
        } else if (std::strncmp(text, "/*", 2) == 0) {
            const char* const end = std::strstr(text + 2, "*/");
            text = end ? end + 1 : text + std::strlen(text) - 1;
        } else {
            kept += *text;
        }
    }
    return kept;
}

std::string trimmed(const std::string& text) {
    const size_t first = text.find_first_not_of(" \t\r\n"), last = text.find_last_not_of(" \t\r\n");
    return first == text.npos ? "" : text.substr(first, last - first + 1);
}

// Splits at each `separator` that is not in brackets.
std::vector<std::string> split(const std::string& text, char separator) {
    std::vector<std::string> parts(1);
    int depth = 0;
    for (const char c : text) {
        depth += (c == '{' || c == '[' || c == '(') - (c == '}' || c == ']' || c == ')');
        if (c == separator && depth == 0) parts.emplace_back();
        else parts.back() += c;
    }
    for (std::string& part : parts) part = trimmed(part);
    if (parts.size() == 1 && parts[0].empty()) parts.clear();
    return parts;
}

class Reader {
public:
    Reader(const std::string& letters, const char* text) : text_(without_comments(text)) {
        program_.letters.assign(letters.begin(), letters.end());
        program_.operands = int(letters.size());
    }

    PtxProgram read() {
        while (program_.error.empty() && skip_blanks()) {
            if (text_[at_] == '{') {
                scopes_.emplace_back();
                ++at_;
            } else if (text_[at_] == '}') {
                if (scopes_.size() > 1) scopes_.pop_back();
                ++at_;
            } else if (!read_label()) {
                read_statement(statement());
            }
        }
        for (PtxInstruction& instruction : program_.instructions)
            for (PtxArgument& argument : instruction.arguments) {
                if (argument.kind != PtxArgument::label) continue;
                const auto found = labels_.find(argument.name);
                if (found == labels_.end()) refuse("knows no '" + argument.name + "'");
                else instruction.target = found->second;
            }
        return std::move(program_);
    }

private:
    void refuse(const std::string& why) {
        if (program_.error.empty()) program_.error = opcode_ + (opcode_.empty() ? "" : " ") + why;
    }

    bool skip_blanks() {
        while (at_ < text_.size() && (std::isspace(text_[at_]) || text_[at_] == ';')) ++at_;
        return at_ < text_.size();
    }

    bool read_label() {
        size_t end = at_;
        while (end < text_.size() &&
               (is_word(text_[end]) || text_[end] == '%' || text_[end] == '='))
            ++end;
        const std::string name = text_.substr(at_, end - at_);
        while (end < text_.size() && std::isspace(text_[end])) ++end;
        if (name.empty() || end >= text_.size() || text_[end] != ':') return false;
        labels_[name] = program_.instructions.size();
        at_ = end + 1;
        return true;
    }

    std::string statement() {  // up to its ; or to the } of its scope
        int depth = 0;
        const size_t begin = at_;
        for (; at_ < text_.size(); ++at_) {
            if (text_[at_] == ';' || (text_[at_] == '}' && depth == 0)) break;
            depth += (text_[at_] == '{') - (text_[at_] == '}');
        }
        return trimmed(text_.substr(begin, at_ - begin));
    }

    void read_statement(std::string text) {
        if (text.compare(0, 4, ".reg") == 0) return declare(text);
        PtxInstruction instruction;
        if (text[0] == '@') {
            const size_t end = text.find_first_of(" \t\n");
            if (end == text.npos) return refuse("has no instruction after " + text);
            instruction.guard = argument(text.substr(1, end - 1));
            text = trimmed(text.substr(end));
        }
        size_t end = 0;
        while (end < text.size() && (is_word(text[end]) || text[end] == '.' || text[end] == ':'))
            ++end;
        instruction.opcode = opcode_ = text.substr(0, end);
        instruction.row = find_row(opcode_);
        if (!instruction.row) return refuse("is none that the emulator has");
        std::istringstream rest(instruction.opcode.substr(std::strlen(instruction.row->name)));
        std::string part;
        for (std::getline(rest, part, '.'); std::getline(rest, part, '.');) {
            instruction.modifiers.push_back(part);
            const PtxType type = ptx_type(part);
            if (type.kind) instruction.types.push_back(type);
            if (!allows(*instruction.row, part) && !(type.kind && allows(*instruction.row, "type")))
                return refuse("is none that the emulator has: ." + part);
        }
        const std::string modifiers = instruction.row->modifiers;
        if (instruction.types.empty() && ptx_type(modifiers.substr(0, modifiers.find(' '))).kind)
            return refuse("lacks a type");
        for (const std::string& operand : split(text.substr(end), ','))
            instruction.arguments.push_back(argument(operand));
        const int count = int(instruction.arguments.size());
        if (count < instruction.row->least || count > instruction.row->most)
            return refuse("does not take " + std::to_string(count) + " operands");
        program_.instructions.push_back(std::move(instruction));
    }

    static bool allows(const PtxRow& row, std::string modifier) {
        if (modifier.compare(0, 4, "m64n") == 0) modifier = "shape";
        return (" " + std::string(row.modifiers) + " ").find(" " + modifier + " ") !=
               std::string::npos;
    }

    void declare(const std::string& text) {  // .reg .pred p, q; or r<4>
        const size_t type = text.find('.', 4), names = text.find_first_of(" \t\n", type);
        if (type == text.npos || names == text.npos) return refuse("declares no register");
        for (std::string name : split(text.substr(names), ',')) {
            name.erase(0, name.find_first_not_of('%'));
            const size_t many = name.find('<');
            const int count = many == name.npos ? 1 : std::atoi(&name[many + 1]);
            program_.letters.insert(program_.letters.end(), count, text[type + 1]);
            for (int i = 0; i < count; ++i)
                scopes_
                    .back()[many == name.npos ? name : name.substr(0, many) + std::to_string(i)] =
                    program_.operands + program_.registers++;
        }
    }

    PtxArgument argument(std::string text) {
        PtxArgument found;
        const auto all = [&](PtxArgument::Kind kind, const std::string& of, char separator) {
            found.kind = kind;
            for (const std::string& part : split(of, separator))
                found.parts.push_back(argument(part));
            return found;
        };
        if (text.empty()) return refuse("lacks an operand"), found;
        if (text == "_") return found;
        if (text.front() == '{')
            return all(PtxArgument::list, text.substr(1, text.size() - 2), ',');
        if (text.front() == '[' && text.back() == ']')
            return all(PtxArgument::address, text.substr(1, text.size() - 2), ',');
        if (text.find('|') != text.npos) return all(PtxArgument::pair, text, '|');
        if (text.find('+') != text.npos && !std::isdigit(text[0]))
            return all(PtxArgument::sum, text, '+');
        if ((text[0] == '!' || text[0] == '-') && !std::isdigit(text[1])) {
            found = argument(trimmed(text.substr(1)));
            found.negated = !found.negated;
            return found;
        }
        if (std::isdigit(text[0]) || text[0] == '-') return number(text);
        return name(text);
    }

    PtxArgument number(const std::string& text) {
        PtxArgument found;
        found.kind = PtxArgument::number;
        const bool is_exact = text[0] == '0' && text.size() > 2 && std::strchr("fFdD", text[1]);
        char* end = nullptr;
        if (is_exact) {  // 0f3f800000: the bits
            found.bits = std::strtoull(&text[2], &end, 16);
            if (text[1] == 'd' || text[1] == 'D') found.floating = true;
        } else if (text.find_first_of(".eE") != text.npos && text.find('x') == text.npos) {
            const double value = std::strtod(text.c_str(), &end);
            std::memcpy(&found.bits, &value, sizeof value);
            found.floating = true;
        } else {
            found.bits = uint64_t(std::strtoll(text.c_str(), &end, 0));
            if (text[0] != '-') found.bits = std::strtoull(text.c_str(), &end, 0);
        }
        while (*end == 'U' || *end == 'u') ++end;
        if (*end) refuse("knows no '" + text + "'");
        return found;
    }

    // %3, a register, %laneid or %%laneid, or a label.
    PtxArgument name(const std::string& text) {
        PtxArgument found;
        const std::string name = text.substr(std::min(text.find_first_not_of('%'), text.size()));
        if (text[0] == '%' && std::isdigit(name[0])) {
            found.kind = PtxArgument::slot;
            found.index = std::atoi(name.c_str());
            if (found.index >= program_.operands) refuse("has no operand " + text);
            return found;
        }
        for (auto scope = scopes_.rbegin(); scope != scopes_.rend(); ++scope)
            if (const auto declared = scope->find(name); declared != scope->end()) {
                found.kind = PtxArgument::slot;
                found.index = declared->second;
                return found;
            }
        found.name = name;
        found.read = text[0] == '%' ? find_special(name) : nullptr;
        found.kind = found.read ? PtxArgument::special : PtxArgument::label;
        if (found.read && opcode_.compare(0, 3, "mov") != 0)
            refuse("knows no '%" + name + "': only mov reads special registers");
        if (!found.read && opcode_.compare(0, 3, "bra") != 0) refuse("knows no '" + text + "'");
        return found;
    }

    const std::string text_;
    std::string opcode_;  // that is being read
    size_t at_ = 0;
    PtxProgram program_;
    std::map<std::string, size_t> labels_;
    std::vector<std::map<std::string, int>> scopes_{1};  // registers
};

}  // namespace

PtxProgram read_ptx(const char* letters, const char* text) { return Reader(letters, text).read(); }

}  // namespace emulator
