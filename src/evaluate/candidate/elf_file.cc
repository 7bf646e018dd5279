#include "evaluate/candidate/elf_file.h"

#include <cxxabi.h>
#include <elf.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <type_traits>

namespace specgen {
namespace {

constexpr std::size_t kMaxBytes = std::size_t{64} << 20;
constexpr std::size_t kMaxSections = 1 << 16;
constexpr std::size_t kMaxSymbols = 1 << 17;
constexpr std::size_t kMaxRelocations = 1 << 20;
constexpr std::size_t kMaxName = 1 << 15;  // template names are long

std::unexpected<Rejection> damaged(std::string_view what) {
  return reject(0, fmt::format("the binary is damaged: {}", what));
}

std::optional<std::string_view> piece(std::string_view bytes, std::uint64_t offset,
                                      std::uint64_t size) {
  if (offset > bytes.size() || size > bytes.size() - offset) return std::nullopt;
  return bytes.substr(offset, size);
}

template <class T>
std::optional<T> read(std::string_view bytes, std::uint64_t offset) {
  static_assert(std::is_trivially_copyable_v<T>);
  auto found = piece(bytes, offset, sizeof(T));
  if (!found) return std::nullopt;
  T value;
  std::memcpy(&value, found->data(), sizeof(T));
  return value;
}

Accepted<std::vector<ElfSegment>> read_segments(std::string_view bytes, const Elf64_Ehdr& header) {
  std::vector<ElfSegment> all;
  if (header.e_phnum > 0 && header.e_phentsize != sizeof(Elf64_Phdr)) {
    return damaged("its segments have an odd size");
  }
  if (!piece(bytes, header.e_phoff, std::uint64_t{header.e_phnum} * sizeof(Elf64_Phdr))) {
    return damaged("its segments are cut off");
  }
  for (std::size_t i = 0; i < header.e_phnum; ++i) {
    auto segment = read<Elf64_Phdr>(bytes, header.e_phoff + i * sizeof(Elf64_Phdr));
    if (!segment) return damaged("its segments are cut off");
    bool inside = piece(bytes, segment->p_offset, segment->p_filesz).has_value();
    std::uint64_t end = 0;
    bool wraps = __builtin_add_overflow(segment->p_vaddr, segment->p_memsz, &end);
    if (!inside || wraps) return damaged("a segment reaches out of it");
    if (segment->p_type == PT_LOAD && segment->p_memsz < segment->p_filesz) {
      return damaged("a segment is larger in the file than in memory");
    }
    all.push_back({segment->p_type, segment->p_flags, segment->p_offset, segment->p_vaddr,
                   segment->p_filesz, segment->p_memsz});
  }
  return all;
}

Accepted<std::vector<ElfSection>> read_sections(std::string_view bytes, const Elf64_Ehdr& header) {
  std::vector<ElfSection> all;
  if (header.e_shnum == 0) return damaged("it has no sections");
  if (header.e_shentsize != sizeof(Elf64_Shdr)) return damaged("its sections have an odd size");
  static_assert(kMaxSections > UINT16_MAX);
  std::vector<Elf64_Shdr> raw;
  for (std::size_t i = 0; i < header.e_shnum; ++i) {
    std::uint64_t offset = 0;
    if (__builtin_add_overflow(header.e_shoff, i * sizeof(Elf64_Shdr), &offset)) {
      return damaged("its sections are cut off");
    }
    auto section = read<Elf64_Shdr>(bytes, offset);
    if (!section) return damaged("its sections are cut off");
    raw.push_back(*section);
  }
  if (header.e_shstrndx >= raw.size()) return damaged("its sections have no names");
  const Elf64_Shdr& names_section = raw[header.e_shstrndx];
  auto names = piece(bytes, names_section.sh_offset, names_section.sh_size);
  if (!names || names_section.sh_type != SHT_STRTAB) return damaged("its sections have no names");
  for (const Elf64_Shdr& from : raw) {
    ElfSection section{.name = {},
                       .type = from.sh_type,
                       .flags = from.sh_flags,
                       .address = from.sh_addr,
                       .size = from.sh_size,
                       .link = from.sh_link,
                       .info = from.sh_info,
                       .bytes = {}};
    if (from.sh_type != SHT_NULL) {
      auto name = elf_string(*names, from.sh_name);
      if (!name) return damaged("a section has no name");
      section.name = *name;
    }
    if (from.sh_type != SHT_NOBITS && from.sh_type != SHT_NULL) {
      auto content = piece(bytes, from.sh_offset, from.sh_size);
      if (!content) return damaged(fmt::format("the section '{}' is cut off", section.name));
      section.bytes = *content;
    }
    all.push_back(section);
  }
  return all;
}

}  // namespace

std::optional<std::string_view> elf_string(std::string_view table, std::uint64_t offset) {
  if (offset >= table.size()) return std::nullopt;
  std::string_view rest = table.substr(offset, kMaxName);
  std::size_t end = rest.find('\0');
  if (end == std::string_view::npos) return std::nullopt;
  return rest.substr(0, end);
}

Accepted<ElfFile> ElfFile::parse(std::string_view bytes) {
  if (bytes.size() > kMaxBytes) return reject(0, "the binary has more than 64 MiB");
  auto header = read<Elf64_Ehdr>(bytes, 0);
  if (!header || std::memcmp(header->e_ident, ELFMAG, SELFMAG) != 0) {
    return damaged("it is not an ELF file");
  }
  if (header->e_ident[EI_CLASS] != ELFCLASS64 || header->e_ident[EI_DATA] != ELFDATA2LSB) {
    return damaged("it is not a 64-bit little-endian ELF file");
  }
  ElfFile file;
  file.bytes_ = bytes;
  file.machine_ = header->e_machine;
  file.type_ = header->e_type;

  file.segments_ = TRY(read_segments(bytes, *header));
  file.sections_ = TRY(read_sections(bytes, *header));
  return file;
}

const ElfSection* ElfFile::section(std::string_view name) const {
  auto found = std::ranges::find(sections_, name, &ElfSection::name);
  return found == sections_.end() ? nullptr : &*found;
}

const ElfSection* ElfFile::section_of_type(std::uint32_t type) const {
  auto found = std::ranges::find(sections_, type, &ElfSection::type);
  return found == sections_.end() ? nullptr : &*found;
}

Accepted<std::vector<ElfSymbol>> ElfFile::symbols(const ElfSection& table) const {
  if (table.link >= sections_.size() || sections_[table.link].type != SHT_STRTAB) {
    return damaged("its symbols have no names");
  }
  std::size_t count = table.bytes.size() / sizeof(Elf64_Sym);
  if (table.bytes.size() % sizeof(Elf64_Sym) != 0) return damaged("its symbols are cut off");
  if (count > kMaxSymbols) return reject(0, "the binary has too many symbols");
  std::vector<ElfSymbol> symbols;
  symbols.reserve(count);
  for (std::size_t i = 0; i < count; ++i) {
    auto from = read<Elf64_Sym>(table.bytes, i * sizeof(Elf64_Sym));
    if (!from) return damaged("its symbols are cut off");
    auto name = elf_string(sections_[table.link].bytes, from->st_name);
    if (!name && from->st_name != 0) return damaged("a symbol has no name");
    symbols.push_back({.name = name.value_or(std::string_view()),
                       .type = from->st_info & 0xFU,
                       .binding = static_cast<unsigned>(from->st_info) >> 4U,
                       .visibility = from->st_other & 3U,
                       .section = from->st_shndx,
                       .value = from->st_value,
                       .size = from->st_size});
  }
  return symbols;
}

Accepted<std::vector<ElfDynamic>> ElfFile::dynamic() const {
  std::vector<ElfDynamic> entries;
  auto segment = std::ranges::find(segments_, std::uint32_t{PT_DYNAMIC}, &ElfSegment::type);
  if (segment == segments_.end()) return entries;
  // Read at its address, as a loader does.
  auto bytes = at_address(segment->address, segment->file_size);
  if (!bytes) return damaged("its dynamic table is not in the file");
  for (std::size_t at = 0;; at += sizeof(Elf64_Dyn)) {
    auto entry = read<Elf64_Dyn>(*bytes, at);
    if (!entry) return damaged("its dynamic table has no end");
    if (entry->d_tag == DT_NULL) return entries;
    entries.push_back({entry->d_tag, entry->d_un.d_val});
  }
}

Accepted<std::vector<ElfRelocation>> ElfFile::relocations(std::uint64_t address,
                                                          std::uint64_t size) const {
  auto bytes = at_address(address, size);
  if (!bytes || size % sizeof(Elf64_Rela) != 0) return damaged("its relocations are cut off");
  if (size / sizeof(Elf64_Rela) > kMaxRelocations) {
    return reject(0, "the binary has too many relocations");
  }
  std::vector<ElfRelocation> relocations;
  for (std::size_t at = 0; at < size; at += sizeof(Elf64_Rela)) {
    auto from = read<Elf64_Rela>(*bytes, at);
    if (!from) return damaged("its relocations are cut off");
    relocations.push_back({static_cast<std::uint32_t>(ELF64_R_TYPE(from->r_info)),
                           static_cast<std::uint32_t>(ELF64_R_SYM(from->r_info))});
  }
  return relocations;
}

std::optional<std::string_view> ElfFile::at_address(std::uint64_t address,
                                                    std::uint64_t size) const {
  for (const ElfSegment& segment : segments_) {
    if (segment.type != PT_LOAD || address < segment.address) continue;
    std::uint64_t inside = address - segment.address;
    if (inside > segment.file_size || size > segment.file_size - inside) continue;
    return piece(bytes_, segment.offset + inside, size);
  }
  return std::nullopt;
}

std::string demangled(std::string_view name) {
  std::string copy(name);
  if (!copy.starts_with("_Z") || copy.size() > 4096) return copy;
  int status = 0;
  std::unique_ptr<char, void (*)(void*)> text(
      abi::__cxa_demangle(copy.c_str(), nullptr, nullptr, &status), std::free);
  return status == 0 && text ? std::string(text.get()) : copy;
}

}  // namespace specgen
