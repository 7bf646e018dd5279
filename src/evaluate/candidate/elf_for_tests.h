#pragma once
// For tests: ELF files assembled from parts, so that they can be invalid in ways that no linker produces, and
// systematic damage to one.

#include <elf.h>

#include <cstring>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace specgen {

class ElfBuilder {
 public:
  explicit ElfBuilder(std::uint16_t machine) : machine_(machine) {
    add_section("", SHT_NULL, 0, "");
    strings_ = add_section(".strtab", SHT_STRTAB, 0, std::string(1, '\0'));
    symbols_ = add_section(".symtab", SHT_SYMTAB, 0, std::string(sizeof(Elf64_Sym), '\0'));
    sections_[symbols_].header.sh_link = static_cast<std::uint32_t>(strings_);
  }

  std::size_t add_section(std::string name, std::uint32_t type, std::uint64_t flags,
                          std::string bytes, std::uint64_t size_without_bytes = 0) {
    Elf64_Shdr header{};
    header.sh_type = type;
    header.sh_flags = flags;
    header.sh_size = type == SHT_NOBITS ? size_without_bytes : bytes.size();
    sections_.push_back({std::move(name), header, std::move(bytes)});
    return sections_.size() - 1;
  }
  Elf64_Shdr& header(std::size_t section) { return sections_[section].header; }

  void add_symbol(std::string_view name, unsigned type, unsigned binding, std::size_t section,
                  std::uint64_t size = 0) {
    Elf64_Sym symbol{};
    symbol.st_name = static_cast<std::uint32_t>(sections_[strings_].bytes.size());
    symbol.st_info = static_cast<unsigned char>((binding << 4U) | type);
    symbol.st_shndx = static_cast<std::uint16_t>(section);
    symbol.st_size = size;
    sections_[strings_].bytes += std::string(name) + '\0';
    append(sections_[symbols_].bytes, symbol);
  }

  std::string build() {
    std::string names;
    for (Section& section : sections_) {
      section.header.sh_name = static_cast<std::uint32_t>(names.size());
      names += section.name + '\0';
    }
    std::size_t name_section = add_section(".shstrtab", SHT_STRTAB, 0, names + ".shstrtab" + '\0');
    sections_[name_section].header.sh_name = static_cast<std::uint32_t>(names.size());
    Elf64_Ehdr file{};
    std::memcpy(file.e_ident, ELFMAG, SELFMAG);
    file.e_ident[EI_CLASS] = ELFCLASS64;
    file.e_ident[EI_DATA] = ELFDATA2LSB;
    file.e_machine = machine_;
    file.e_type = ET_EXEC;
    file.e_shentsize = sizeof(Elf64_Shdr);
    file.e_shnum = static_cast<std::uint16_t>(sections_.size());
    file.e_shstrndx = static_cast<std::uint16_t>(name_section);
    std::string bytes(sizeof(file), '\0');
    for (Section& section : sections_) {
      section.header.sh_offset = bytes.size();
      if (section.header.sh_type == SHT_NOBITS) continue;
      if (section.header.sh_size < section.bytes.size()) {
        section.header.sh_size = section.bytes.size();
      }
      bytes += section.bytes;
    }
    file.e_shoff = bytes.size();
    for (const Section& section : sections_) append(bytes, section.header);
    std::memcpy(bytes.data(), &file, sizeof(file));
    return bytes;
  }

 private:
  struct Section {
    std::string name;
    Elf64_Shdr header;
    std::string bytes;
  };
  template <class T>
  static void append(std::string& bytes, const T& value) {
    bytes.append(reinterpret_cast<const char*>(&value), sizeof(value));
  }

  std::uint16_t machine_;
  std::vector<Section> sections_;
  std::size_t strings_ = 0;
  std::size_t symbols_ = 0;
};

// Calls `check` with every truncation of the file, and with header words set to large, small and negative values. The
// reader must return from each.
inline void damage(const std::string& good, const std::function<void(std::string_view)>& check) {
  std::size_t step = good.size() / 2000 + 1;
  for (std::size_t size = 0; size < good.size(); size += step) {
    check(std::string_view(good).substr(0, size));
  }
  std::string changed = good;
  for (std::size_t at = 0; at < good.size(); at += step) {
    for (unsigned char mask : {0xFF, 0x80, 0x01}) {
      changed[at] = static_cast<char>(static_cast<unsigned char>(good[at]) ^ mask);
      check(changed);
    }
    changed[at] = good[at];
  }
}

}  // namespace specgen
