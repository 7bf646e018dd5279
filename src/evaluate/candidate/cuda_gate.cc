#include "evaluate/candidate/cuda_gate.h"

#include <elf.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <filesystem>
#include <map>
#include <optional>

#include "base/text.h"
#include "evaluate/candidate/directive_text.h"
#include "evaluate/candidate/elf_file.h"
#include "evaluate/candidate/source_gate.h"

namespace specgen {
namespace {

constexpr std::array<std::string_view, 28> kHeaders{"cuda.h",
                                                    "cuda_bf16.h",
                                                    "cuda_fp16.h",
                                                    "cuda_fp4.h",
                                                    "cuda_fp6.h",
                                                    "cuda_fp8.h",
                                                    "cuda_pipeline.h",
                                                    "cuda_awbarrier.h",
                                                    "cuda_pipeline_primitives.h",
                                                    "cuda_awbarrier_primitives.h",
                                                    "cuda_runtime.h",
                                                    "mma.h",
                                                    "cooperative_groups.h",
                                                    "math_constants.h",
                                                    "vector_types.h",
                                                    "vector_functions.h",
                                                    "cstdint",
                                                    "stdint.h",
                                                    "cstddef",
                                                    "stddef.h",
                                                    "type_traits",
                                                    "limits",
                                                    "cfloat",
                                                    "float.h",
                                                    "climits",
                                                    "limits.h",
                                                    "cmath",
                                                    "math.h"};
constexpr std::array<std::string_view, 3> kFolders{"cooperative_groups/", "cuda/std/", "cuda/"};

// "cuda/barrier", never "cuda/../../etc/passwd".
bool is_plain_path(std::string_view path) {
  if (path.empty() || path.starts_with('/')) return false;
  for (std::string_view part : split(path, '/')) {
    if (part.empty() || part == "." || part == "..") return false;
    bool plain = std::ranges::all_of(
        part, [](char c) { return is_name_character(c) || c == '.' || c == '-' || c == '+'; });
    if (!plain) return false;
  }
  return true;
}

bool may_include(std::string_view header, std::span<const std::string> allowed_folders) {
  if (std::ranges::find(kHeaders, header) != kHeaders.end()) return true;
  if (!is_plain_path(header)) return false;
  if (std::ranges::any_of(kFolders, [&](auto folder) { return header.starts_with(folder); })) {
    return true;
  }
  return std::ranges::any_of(allowed_folders, [&](const std::string& folder) {
    std::error_code error;
    return std::filesystem::is_regular_file(std::filesystem::path(folder) / header, error);
  });
}

bool has_launch_line(std::string_view source) {
  return std::ranges::any_of(split(source, '\n'), [](std::string_view line) {
    line = trim(line);
    if (!line.starts_with("//")) return false;
    while (line.starts_with('/')) line.remove_prefix(1);
    line = trim(line);
    if (!line.starts_with("specgen:")) return false;
    return trim(line.substr(std::string_view("specgen:").size())).starts_with("launch");
  });
}

struct Lesson {
  std::string_view name;  // or how it begins
  std::string_view text;
};
constexpr std::array<Lesson, 7> kLessons{
    Lesson{"vprintf", "it prints (printf): a candidate cannot"},
    Lesson{"malloc", "it allocates memory (malloc): use // specgen:scratch NAME DTYPE[dimensions]"},
    Lesson{"free", "it allocates memory (free): use // specgen:scratch NAME DTYPE[dimensions]"},
    Lesson{"__assertfail", "it asserts: leave assert() out"},
    Lesson{"__cudaCDP", "it launches from the device: every launch is a // specgen:launch line"},
    Lesson{"cuda", "it calls the runtime on the device: every launch is a // specgen:launch line"},
    Lesson{"cnp", "it launches from the device: every launch is a // specgen:launch line"}};

std::string lesson_of(std::string_view name) {
  for (const Lesson& lesson : kLessons) {
    if (name.starts_with(lesson.name)) return std::string(lesson.text);
  }
  return fmt::format("it calls '{}', which is defined nowhere", excerpt(demangled(name)));
}

Accepted<ElfFile> parse_cubin(std::string_view elf) {
  ElfFile file = TRY(ElfFile::parse(elf));
  if (file.machine() != EM_CUDA) return reject(0, "the binary is not a cubin");
  return file;
}

Accepted<std::vector<ElfSymbol>> cubin_symbols(const ElfFile& file) {
  const ElfSection* table = file.section_of_type(SHT_SYMTAB);
  if (!table) return reject(0, "the binary is damaged: it has no symbols");
  return file.symbols(*table);
}

// Whether code can obtain the address of a global. Such addresses are in constant bank 4, where the loader
// puts them; NVRTC gives memory to every constexpr of a namespace, and what no instruction reads from there keeps no
// state. The bank of an operand is in bits 54 to 58 of an instruction (compute capability 7.0 and later), unless its
// form, in bits 9 to 11, says that the operand is a register or a number. An address may also be written elsewhere
// by a relocation: then the answer is yes.
bool can_reach_globals(const ElfFile& file) {
  constexpr std::size_t kInstruction = 16;
  constexpr std::uint64_t kAddressBank = 4, kRegisterForm = 1, kNumberForm = 4;
  for (const ElfSection& section : file.sections()) {
    const bool relocates = section.type == SHT_REL || section.type == SHT_RELA;
    if (relocates && section.size > 0 && !section.name.ends_with(".nv.constant4") &&
        section.name.find(".debug_") == std::string_view::npos) {
      return true;
    }
    if (!section.name.starts_with(".text.")) continue;
    for (std::size_t at = 0; at + kInstruction <= section.bytes.size(); at += kInstruction) {
      std::uint64_t word = 0;
      std::memcpy(&word, section.bytes.data() + at, sizeof(word));
      const std::uint64_t form = (word >> 9U) & 7U;
      const std::uint64_t bank = (word >> 54U) & 31U;
      if (bank == kAddressBank && form != kRegisterForm && form != kNumberForm) return true;
    }
  }
  return false;
}

bool is_writable_global(const ElfSection& section) {
  if (section.size == 0) return false;
  bool named = section.name.starts_with(".nv.global") || section.name.starts_with(".nv.managed");
  bool scoped = section.name.starts_with(".nv.shared") || section.name.starts_with(".nv.local");
  bool writable = (section.flags & SHF_WRITE) && (section.flags & SHF_ALLOC) && !scoped;
  return named || writable;
}

std::optional<std::uint32_t> word_at(std::string_view bytes, std::size_t at) {
  std::uint32_t value = 0;
  if (at > bytes.size() || bytes.size() - at < sizeof(value)) return std::nullopt;
  std::memcpy(&value, bytes.data() + at, sizeof(value));
  return value;
}

// .nv.info is a list of (format, attribute, 16 bits); format 4 has that many bytes behind it. Of
// interest are attributes of (symbol, value).
using Attributes = std::map<std::pair<unsigned, std::uint32_t>, std::uint32_t>;
constexpr unsigned kFrameSize = 0x11;
constexpr unsigned kRegisterCount = 0x2f;

Attributes read_attributes(std::string_view bytes) {
  constexpr unsigned kSized = 4;
  Attributes attributes;
  for (std::size_t at = 0; at + 4 <= bytes.size();) {
    std::uint32_t head = word_at(bytes, at).value_or(0);
    unsigned format = head & 0xFFU;
    unsigned attribute = (head >> 8U) & 0xFFU;
    std::size_t size = format == kSized ? head >> 16U : 0;
    at += 4;
    auto symbol = word_at(bytes.substr(0, at + std::min(size, bytes.size() - at)), at);
    auto value = word_at(bytes.substr(0, at + std::min(size, bytes.size() - at)), at + 4);
    if (size == 8 && symbol && value) attributes[{attribute, *symbol}] = *value;
    at += size;
  }
  return attributes;
}

}  // namespace

Accepted<void> check_cuda_source(std::string_view source,
                                 std::span<const std::string> allowed_folders) {
  TRY(check_text(source));
  SourceText text(source);
  SourceRules rules{
      .may_include = [&](std::string_view header) { return may_include(header, allowed_folders); },
      .instead =
          [](std::string_view) {
            return std::string(
                ": cuda_fp16.h, mma.h, cooperative_groups.h, cuda/barrier and their "
                "like may, and what the user allows");
          },
      .machine_assembler = false};
  TRY(check_source(text, rules));
  if (std::ranges::find(text.tokens(), std::string_view("__global__"), &SourceToken::text) ==
      text.tokens().end()) {
    return reject(0, "there is no kernel in it: __global__ void NAME(...) is expected");
  }
  if (!has_launch_line(source)) return reject(0, "there is no specgen:launch line");
  return {};
}

Accepted<void> check_cubin(std::string_view elf) {
  ElfFile file = TRY(parse_cubin(elf));
  std::vector<ElfSymbol> symbols = TRY(cubin_symbols(file));
  for (const ElfSymbol& symbol : symbols) {
    bool elsewhere = symbol.section == SHN_UNDEF && !symbol.name.empty();
    // Weak objects are what the system reserves.
    bool reserved = symbol.binding == STB_WEAK && symbol.type == STT_OBJECT &&
                    (symbol.name.starts_with(".nv.") || symbol.name.starts_with("__U"));
    if (elsewhere && !reserved) return reject(0, lesson_of(symbol.name));
  }
  for (std::size_t i = 0; i < file.sections().size(); ++i) {
    const ElfSection& section = file.sections()[i];
    if (!is_writable_global(section) || !can_reach_globals(file)) continue;
    auto is_here = [&](const ElfSymbol& symbol) {
      return symbol.section == i && symbol.type == STT_OBJECT;
    };
    auto named = std::ranges::find_if(symbols, is_here);
    std::string which =
        named == symbols.end() ? "" : fmt::format(", '{}'", excerpt(demangled(named->name)));
    return reject(0, fmt::format("it keeps state between calls ({} bytes of device globals{}): use "
                                 "// specgen:scratch, or __constant__ for tables",
                                 section.size, which));
  }
  return {};
}

Accepted<CubinFacts> cubin_facts(std::string_view elf) {
  constexpr std::int64_t kReservedShared = 1024;
  constexpr std::string_view kCode = ".text.";
  ElfFile file = TRY(parse_cubin(elf));
  std::vector<ElfSymbol> symbols = TRY(cubin_symbols(file));
  const ElfSection* info = file.section(".nv.info");
  Attributes attributes = read_attributes(info ? info->bytes : std::string_view());
  std::map<std::string_view, std::size_t> functions;
  for (std::size_t i = 0; i < symbols.size(); ++i) {
    if (symbols[i].type == STT_FUNC) functions.emplace(symbols[i].name, i);
  }
  std::map<std::string_view, const ElfSection*> sections;
  for (const ElfSection& section : file.sections()) sections.emplace(section.name, &section);
  auto size_of_section = [&](const std::string& name) -> std::int64_t {
    auto found = sections.find(name);
    // No kernel has more than this; a larger number is forged and would overflow.
    constexpr std::uint64_t kMax = std::uint64_t{1} << 40;
    return found == sections.end() ? 0
                                   : static_cast<std::int64_t>(std::min(found->second->size, kMax));
  };
  bool reserves = sections.contains(".nv.shared.reserved.0");
  std::int64_t common = size_of_section(".nv.constant3");
  CubinFacts facts;
  for (const ElfSection& section : file.sections()) {
    if (!section.name.starts_with(kCode)) continue;
    KernelFacts kernel;
    kernel.name = std::string(section.name.substr(kCode.size()));
    // Only kernels have a bank of arguments; other functions are called from them.
    if (!sections.contains(".nv.constant0." + kernel.name)) continue;
    kernel.code_bytes = static_cast<std::int64_t>(section.bytes.size());
    std::int64_t shared = size_of_section(".nv.shared." + kernel.name);
    kernel.static_shared_bytes =
        reserves ? std::max<std::int64_t>(0, shared - kReservedShared) : shared;
    kernel.constant_bytes = common + size_of_section(".nv.constant2." + kernel.name);
    kernel.registers = section.info >> 24U;  // up to CUDA 12; later it is in .nv.info only
    if (auto function = functions.find(kernel.name); function != functions.end()) {
      auto index = static_cast<std::uint32_t>(function->second);
      auto registers = attributes.find({kRegisterCount, index});
      if (registers != attributes.end()) kernel.registers = registers->second;
      auto frame = attributes.find({kFrameSize, index});
      if (frame != attributes.end()) kernel.local_bytes = frame->second;
    }
    facts.kernels.push_back(std::move(kernel));
  }
  return facts;
}

}  // namespace specgen
