#include "evaluate/cpu/instruction_kind.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <initializer_list>
#include <vector>

#include "base/text.h"

namespace specgen {
namespace {

bool begins_with_any(std::string_view text, std::initializer_list<std::string_view> prefixes) {
  return std::ranges::any_of(prefixes,
                             [&](std::string_view prefix) { return text.starts_with(prefix); });
}
bool is_any(std::string_view text, std::initializer_list<std::string_view> words) {
  return std::ranges::find(words, text) != words.end();
}

std::optional<std::uint64_t> leading_hex(std::string_view text) {
  std::uint64_t value = 0;
  auto [end, trouble] = std::from_chars(text.data(), text.data() + text.size(), value, 16);
  if (trouble != std::errc() || end == text.data()) return std::nullopt;
  return value;
}

std::string_view take_word(std::string_view& rest) {
  rest = trim(rest);
  std::size_t end = 0;
  while (end < rest.size() && !is_space(rest[end])) ++end;
  std::string_view word = rest.substr(0, end);
  rest = trim(rest.substr(end));
  return word;
}

// "(%rdi,%rax,1)" is one operand.
std::vector<std::string_view> operands_of(std::string_view text) {
  std::vector<std::string_view> operands;
  int depth = 0;
  std::size_t begin = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '(' || text[i] == '[') ++depth;
    if (text[i] == ')' || text[i] == ']') --depth;
    if (text[i] == ',' && depth == 0) {
      operands.push_back(trim(text.substr(begin, i - begin)));
      begin = i + 1;
    }
  }
  if (!text.empty()) operands.push_back(trim(text.substr(begin)));
  return operands;
}

// --- x86-64 ---

bool is_prefix(std::string_view word) {
  return word.starts_with('{') || word.starts_with("rex") ||
         is_any(word, {"lock", "rep", "repz", "repnz", "repe", "repne", "data16", "addr32", "cs",
                       "ds", "es", "fs", "gs", "ss", "bnd", "notrack", "xacquire", "xrelease"});
}

bool in_memory(std::string_view operand) {
  return operand.contains('(') || begins_with_any(operand, {"%fs:", "%gs:", "%ds:", "%es:"});
}

void note_x86_float(std::string_view name, Instruction& it) {
  if (name.starts_with('v')) name.remove_prefix(1);
  it.fused = begins_with_any(name, {"fmadd", "fmsub", "fnmadd", "fnmsub", "dpbf16ps"});
  bool converts = name.starts_with("cvt");
  // Integer vectors begin with p (and so do the permutations); the rest of these only moves bits.
  if (begins_with_any(name, {"p", "mov", "broadcast", "shuf", "unpck", "insert", "extract", "blend",
                             "mask", "gather", "scatter", "xor", "and", "or", "expand", "compress",
                             "align", "lddqu", "zero"})) {
    return;
  }
  if (converts) {
    it.scalar_float =
        name.contains("ss") || name.contains("sd") || name.contains("si") || name.contains("sh");
    it.vector_float = !it.scalar_float;
    return;
  }
  it.vector_float = name.ends_with("ps") || name.ends_with("pd") || name.ends_with("ph");
  it.scalar_float = name.ends_with("ss") || name.ends_with("sd") || name.ends_with("sh");
}

bool only_reads(std::string_view name) {
  return begins_with_any(name, {"cmp", "test", "bt", "push", "mul", "div", "imul", "idiv", "lods",
                                "scas", "fld", "fild", "ldmxcsr", "ptest", "vptest"}) &&
         !begins_with_any(name, {"cmpxchg", "btr", "bts", "btc"});
}
bool only_writes(std::string_view name) {
  return begins_with_any(
      name, {"mov",        "vmov",      "vextract", "extract",   "pextr",    "vpextr",
             "set",        "stos",      "pop",      "fst",       "fist",     "vcompress",
             "vpcompress", "vpscatter", "vscatter", "vcvtps2ph", "vmaskmov", "vpmaskmov",
             "maskmov",    "vpmov",     "stmxcsr",  "vstmxcsr"});
}

void note_x86_memory(std::string_view name, const std::vector<std::string_view>& operands,
                     Instruction& it) {
  if (begins_with_any(name, {"lea", "nop", "prefetch", "clflush", "endbr"})) return;
  for (std::size_t i = 0; i < operands.size(); ++i) {
    if (!in_memory(operands[i])) continue;
    bool destination = i + 1 == operands.size();  // AT&T: the last one
    if (!destination || only_reads(name) || it.branch || it.call) {
      it.load = true;
    } else if (only_writes(name)) {
      it.store = true;
    } else {
      it.load = it.store = true;
    }
  }
}

void classify_x86(std::string_view name, std::string_view rest, Instruction& it) {
  while (is_prefix(name) && !rest.empty()) name = take_word(rest);
  rest = trim(rest.substr(0, rest.find(" # ")));
  it.call = name.starts_with("call");
  it.branch = name.starts_with('j') || name.starts_with("loop");
  it.ends = name.starts_with("jmp") || name.starts_with("ret") || is_any(name, {"ud2", "hlt"});
  if (it.branch && !rest.starts_with('*')) it.target = leading_hex(rest);
  if (it.branch || it.call) {
    if (rest.starts_with('*') && in_memory(rest)) it.load = true;
    return;
  }
  it.width = rest.contains("%zmm")   ? 64
             : rest.contains("%ymm") ? 32
             : rest.contains("%xmm") ? 16
                                     : 0;
  if (it.width > 0) {
    note_x86_float(name, it);
  } else if (name.starts_with('f') &&
             !begins_with_any(name, {"fld", "fst", "fild", "fist", "fxch", "fn", "fxsave",
                                     "fxrstor", "fwait", "femms", "ffree"})) {
    it.scalar_float = true;  // x87: long double
  }
  note_x86_memory(name, operands_of(rest), it);
}

// --- AArch64 ---

// "v0.4s", "z3.d", but no "x1".
bool names_vector(std::string_view rest, char letter) {
  for (std::size_t i = 0; i + 2 < rest.size(); ++i) {
    bool starts = i == 0 || is_space(rest[i - 1]) || rest[i - 1] == '{' || rest[i - 1] == ',';
    if (!starts || rest[i] != letter || rest[i + 1] < '0' || rest[i + 1] > '9') continue;
    std::size_t end = rest.find_first_not_of("0123456789", i + 1);
    if (end != rest.npos && rest[end] == '.') return true;
  }
  return false;
}

void classify_aarch64(std::string_view name, std::string_view rest, Instruction& it) {
  rest = trim(rest.substr(0, rest.find("//")));
  it.call = is_any(name, {"bl", "blr"});
  it.branch = name == "b" || name == "br" || name.starts_with("b.") ||
              is_any(name, {"cbz", "cbnz", "tbz", "tbnz"});
  it.ends = is_any(name, {"b", "br", "ret", "udf"});
  if (it.call) return;
  std::vector<std::string_view> operands = operands_of(rest);
  if (it.branch) {  // "tbz w0, #3, 71c <f+0x1c>"
    if (!operands.empty() && name != "br") it.target = leading_hex(operands.back());
    return;
  }
  it.load = name.starts_with("ld");
  it.store = begins_with_any(
      name, {"st1", "st2", "st3", "st4", "stp", "str", "stnp", "stur", "stnt", "stl", "stx"});
  bool scalable = names_vector(rest, 'z');
  it.neon = names_vector(rest, 'v') ||
            (!operands.empty() && operands[0].size() > 1 && operands[0][0] == 'q');
  it.width = it.neon ? 16 : scalable ? 1 : 0;
  bool is_float = (name.starts_with('f') && name != "fmov" && !name.starts_with("fcpy") &&
                   !name.starts_with("fdup")) ||
                  begins_with_any(name, {"scvtf", "ucvtf", "bfdot", "bfmmla", "bfmlal"});
  if (!is_float) return;
  it.fused = begins_with_any(name, {"fmla", "fmls", "fmadd", "fmsub", "fnmadd", "fnmsub", "fmad",
                                    "fnmla", "fnmls", "bfdot", "bfmmla", "bfmlal", "fcmla"});
  (it.neon || scalable ? it.vector_float : it.scalar_float) = true;
}

}  // namespace

std::optional<Instruction> parse_instruction(std::string_view line, Processor processor) {
  if (line.empty() || !is_space(line.front())) return std::nullopt;
  std::string_view rest = trim(line);
  std::size_t colon = rest.find(':');
  if (colon == rest.npos || colon == 0 || colon > 16) return std::nullopt;
  if (rest.substr(0, colon).find_first_not_of("0123456789abcdef") != rest.npos) return std::nullopt;
  Instruction it;
  auto address = leading_hex(rest.substr(0, colon));
  if (!address) return std::nullopt;
  it.address = *address;
  rest.remove_prefix(colon + 1);
  std::string_view name = take_word(rest);
  if (name.empty()) return std::nullopt;
  if (processor == Processor::x86_64) {
    classify_x86(name, rest, it);
  } else {
    classify_aarch64(name, rest, it);
  }
  return it;
}

}  // namespace specgen
