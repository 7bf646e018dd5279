#pragma once
// Reads an untrusted ELF64 little-endian file: every offset and every count is checked, and the time is bounded by the
// size of the file. Views point into the bytes that were given to parse().

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "evaluate/candidate/rejection.h"

namespace specgen {

struct ElfSection {
  std::string_view name;
  std::uint32_t type = 0;
  std::uint64_t flags = 0;
  std::uint64_t address = 0;
  std::uint64_t size = 0;
  std::uint32_t link = 0;
  std::uint32_t info = 0;
  std::string_view bytes;  // empty where the file holds none
};

struct ElfSegment {
  std::uint32_t type = 0;
  std::uint32_t flags = 0;
  std::uint64_t offset = 0;
  std::uint64_t address = 0;
  std::uint64_t file_size = 0;
  std::uint64_t memory_size = 0;
};

struct ElfSymbol {
  std::string_view name;
  unsigned type = 0;
  unsigned binding = 0;
  unsigned visibility = 0;
  std::size_t section = 0;  // 0: defined elsewhere
  std::uint64_t value = 0;
  std::uint64_t size = 0;
};

struct ElfRelocation {
  std::uint32_t type = 0;
  std::uint32_t symbol = 0;
};

struct ElfDynamic {
  std::int64_t tag = 0;
  std::uint64_t value = 0;
};

class ElfFile {
 public:
  static Accepted<ElfFile> parse(std::string_view bytes);

  unsigned machine() const { return machine_; }
  unsigned type() const { return type_; }
  const std::vector<ElfSection>& sections() const { return sections_; }
  const std::vector<ElfSegment>& segments() const { return segments_; }
  const ElfSection* section(std::string_view name) const;       // the first of that name
  const ElfSection* section_of_type(std::uint32_t type) const;  // the first of that type

  Accepted<std::vector<ElfSymbol>> symbols(const ElfSection& table) const;
  Accepted<std::vector<ElfDynamic>> dynamic()
      const;  // as a loader reads it; empty if there is none
  Accepted<std::vector<ElfRelocation>> relocations(std::uint64_t address, std::uint64_t size) const;

  // The bytes that a loader puts at this address, if the file holds all of them.
  std::optional<std::string_view> at_address(std::uint64_t address, std::uint64_t size) const;

 private:
  std::string_view bytes_;
  unsigned machine_ = 0;
  unsigned type_ = 0;
  std::vector<ElfSection> sections_;
  std::vector<ElfSegment> segments_;
};

// The text at an offset of a table of strings.
std::optional<std::string_view> elf_string(std::string_view table, std::uint64_t offset);

// "operator new(unsigned long)"; a name that is not mangled is returned unchanged.
std::string demangled(std::string_view name);

}  // namespace specgen
