#include <elf.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>

#include "evaluate/candidate/cpu_gate.h"
#include "evaluate/candidate/cpu_symbols.h"
#include "evaluate/candidate/directive_text.h"
#include "evaluate/candidate/elf_file.h"

namespace specgen {
namespace {

// Symbols are allowed one by one, so an unnecessary library does no harm.
constexpr std::array<std::string_view, 5> kLibraries{"libm.so.6", "libc.so.6", "libmvec.so.1",
                                                     "libstdc++.so.6", "libgcc_s.so.1"};

std::unexpected<Rejection> no(std::string reason) {
  return reject(0, std::move(reason));
}

class CpuBinary {
 public:
  CpuBinary(ElfFile file, std::string_view entry, std::string_view signature)
      : file_(std::move(file)), entry_(entry), signature_(signature) {}

  Accepted<void> check() {
    TRY(check_kind());
    TRY(read_dynamic());
    TRY(read_symbols());
    TRY(check_entry());
    TRY(check_undefined());
    TRY(check_start());
    TRY(check_relocations());
    TRY(check_state());
    return check_libraries();
  }

 private:
  Accepted<void> check_kind();
  Accepted<void> read_dynamic();
  Accepted<void> read_symbols();
  Accepted<void> check_entry();
  std::unexpected<Rejection> no_entry(std::string_view instead = {}) const;
  Accepted<void> check_undefined();
  Accepted<void> check_start();
  Accepted<void> check_relocations();
  Accepted<void> check_state();
  Accepted<void> check_libraries();

  std::uint64_t dynamic(std::int64_t tag) const {
    auto found = dynamic_.find(tag);
    return found == dynamic_.end() ? 0 : found->second;
  }
  bool is_code(std::uint64_t address) const {
    return std::ranges::any_of(file_.segments(), [&](const ElfSegment& segment) {
      return segment.type == PT_LOAD && (segment.flags & PF_X) && address >= segment.address &&
             address - segment.address < segment.file_size;
    });
  }

  ElfFile file_;
  std::string_view entry_;
  std::string_view signature_;
  std::map<std::int64_t, std::uint64_t>
      dynamic_;  // without DT_NEEDED, which may occur several times
  std::vector<std::uint64_t> needed_;
  std::vector<ElfSymbol> symbols_;  // those that a loader sees
};

Accepted<void> CpuBinary::check_kind() {
  if (file_.machine() != EM_X86_64 && file_.machine() != EM_AARCH64) {
    return no("the binary is for another kind of CPU");
  }
  if (file_.type() != ET_DYN) return no("the binary is not a shared object");
  bool stack = false;
  for (const ElfSegment& segment : file_.segments()) {
    if (segment.type == PT_GNU_STACK) {
      stack = true;
      if (segment.flags & PF_X) return no("it requires an executable stack");
    }
    if (segment.type == PT_LOAD && (segment.flags & PF_W) && (segment.flags & PF_X)) {
      return no("it has memory that is both writable and executable");
    }
    if (segment.type == PT_TLS) {
      return no(
          "it keeps state between calls (thread_local): everything it needs comes with the "
          "call");
    }
    if (segment.type == PT_INTERP) return no("the binary is a program, not a shared object");
  }
  if (!stack) return no("it requires an executable stack");
  return {};
}

Accepted<void> CpuBinary::read_dynamic() {
  auto tables = std::ranges::count(file_.segments(), std::uint32_t{PT_DYNAMIC}, &ElfSegment::type);
  if (tables != 1) return no("the binary is damaged: it has no dynamic table, or several");
  for (const ElfDynamic& entry : TRY(file_.dynamic())) {
    if (entry.tag == DT_NEEDED) {
      needed_.push_back(entry.value);
    } else if (!dynamic_.emplace(entry.tag, entry.value).second) {
      return no("the binary is damaged: its dynamic table has an entry twice");
    }
  }
  return {};
}

Accepted<void> CpuBinary::read_symbols() {
  const ElfSection* table = file_.section_of_type(SHT_DYNSYM);
  if (!table) return no_entry();
  symbols_ = TRY(file_.symbols(*table));
  // This must be the table that a loader reads.
  const ElfSection& names = file_.sections()[table->link];
  bool same = dynamic(DT_SYMTAB) == table->address && dynamic(DT_STRTAB) == names.address &&
              dynamic(DT_STRSZ) == names.size && file_.at_address(table->address, table->size) &&
              file_.at_address(table->address, table->size)->data() == table->bytes.data() &&
              file_.at_address(names.address, names.size) &&
              file_.at_address(names.address, names.size)->data() == names.bytes.data();
  if (!same) return no("the binary is damaged: its symbols are in two places");
  return {};
}

Accepted<void> CpuBinary::check_entry() {
  std::string wanted(entry_);
  std::string found;
  for (const ElfSymbol& symbol : symbols_) {
    if (symbol.section == SHN_UNDEF || symbol.type != STT_FUNC) continue;
    bool visible = symbol.binding == STB_GLOBAL || symbol.binding == STB_WEAK;
    bool open = symbol.visibility == STV_DEFAULT || symbol.visibility == STV_PROTECTED;
    if (symbol.name == entry_ && visible && open && is_code(symbol.value)) return {};
    if (!symbol.name.starts_with("_Z")) continue;
    std::string name = demangled(symbol.name);
    if (name.starts_with(wanted + "(")) found = std::move(name);
  }
  return no_entry(found);
}

std::unexpected<Rejection> CpuBinary::no_entry(std::string_view instead) const {
  std::string text = fmt::format("it does not define the function '{}'", entry_);
  if (!instead.empty()) {
    text += fmt::format("; '{}' lacks extern \"C\" or has other parameters", excerpt(instead));
  }
  const std::string signature = signature_.empty()
                                    ? fmt::format("extern \"C\" void {}(...)", entry_)
                                    : std::string(signature_);
  return no(fmt::format("{}. Expected: {}", text, signature));
}

Accepted<void> CpuBinary::check_undefined() {
  std::optional<SymbolLesson> worst;
  for (const ElfSymbol& symbol : symbols_) {
    if (symbol.section != SHN_UNDEF || symbol.name.empty()) continue;
    if (cpu_symbol_allowed(symbol.name)) continue;
    SymbolLesson lesson = cpu_symbol_lesson(symbol.name);
    if (!worst || lesson.rank < worst->rank) worst = std::move(lesson);
  }
  if (worst) return no(std::move(worst->reason));
  return {};
}

Accepted<void> CpuBinary::check_start() {
  bool runs = dynamic(DT_INIT) != 0 || dynamic(DT_FINI) != 0 || dynamic(DT_INIT_ARRAYSZ) != 0 ||
              dynamic(DT_FINI_ARRAYSZ) != 0 || dynamic(DT_PREINIT_ARRAYSZ) != 0 ||
              dynamic_.contains(DT_INIT_ARRAY) != dynamic_.contains(DT_INIT_ARRAYSZ) ||
              dynamic_.contains(DT_FINI_ARRAY) != dynamic_.contains(DT_FINI_ARRAYSZ);
  if (runs) {
    return no(
        "it runs code when it is loaded or unloaded (a constructor, or a global that is "
        "computed): only the function may do work");
  }
  for (std::int64_t tag :
       {std::int64_t{DT_AUDIT}, std::int64_t{DT_DEPAUDIT}, std::int64_t{DT_FILTER},
        std::int64_t{DT_AUXILIARY}, std::int64_t{DT_RPATH}, std::int64_t{DT_RUNPATH}}) {
    if (dynamic_.contains(tag)) return no("the binary names places to load libraries from");
  }
  if (dynamic_.contains(DT_TEXTREL) || (dynamic(DT_FLAGS) & DF_TEXTREL)) {
    return no("its code would be changed when it is loaded (text relocations)");
  }
  for (const ElfSymbol& symbol : symbols_) {
    if (symbol.type == STT_GNU_IFUNC) {
      return no(fmt::format("'{}' is chosen by code that runs when it is loaded (ifunc)",
                            excerpt(demangled(symbol.name))));
    }
    if (symbol.type == STT_TLS) return no("it keeps state between calls (thread_local)");
  }
  return {};
}

Accepted<void> CpuBinary::check_relocations() {
  static const std::vector<std::uint32_t> kX86{R_X86_64_NONE, R_X86_64_64, R_X86_64_GLOB_DAT,
                                               R_X86_64_JUMP_SLOT, R_X86_64_RELATIVE};
  static const std::vector<std::uint32_t> kArm{R_AARCH64_NONE, R_AARCH64_ABS64, R_AARCH64_GLOB_DAT,
                                               R_AARCH64_JUMP_SLOT, R_AARCH64_RELATIVE};
  bool x86 = file_.machine() == EM_X86_64;
  if (dynamic_.contains(DT_REL))
    return no("the binary is damaged: it has relocations of another kind");
  if (dynamic_.contains(DT_JMPREL) && dynamic(DT_PLTREL) != DT_RELA) {
    return no("the binary is damaged: it has relocations of another kind");
  }
  for (auto [table, size] : {std::pair{DT_RELA, DT_RELASZ}, std::pair{DT_JMPREL, DT_PLTRELSZ}}) {
    if (dynamic(size) == 0) continue;
    for (const ElfRelocation& relocation : TRY(file_.relocations(dynamic(table), dynamic(size)))) {
      bool ifunc = relocation.type == (x86 ? R_X86_64_IRELATIVE : R_AARCH64_IRELATIVE);
      if (ifunc) return no("a function is chosen by code that runs when it is loaded (ifunc)");
      const auto& known = x86 ? kX86 : kArm;
      if (std::ranges::find(known, relocation.type) == known.end()) {
        return no(fmt::format("it has a relocation of type {}, which a candidate does not need",
                              relocation.type));
      }
      if (relocation.symbol >= symbols_.size() && relocation.symbol != 0) {
        return no("the binary is damaged: a relocation has no symbol");
      }
    }
  }
  return {};
}

// Everything that stays writable after loading is state. What the loader itself fills in (.got,
// .dynamic) is made read-only by RELRO, so RELRO decides, not the names of sections.
Accepted<void> CpuBinary::check_state() {
  std::uint64_t sealed_begin = 0;
  std::uint64_t sealed_end = 0;
  for (const ElfSegment& segment : file_.segments()) {
    if (segment.type != PT_GNU_RELRO) continue;
    sealed_begin = segment.address;
    sealed_end = segment.address + segment.memory_size;
  }
  constexpr std::uint64_t kPage = 4096;
  if (sealed_end % kPage != 0) {  // the loader protects whole pages only
    return no("its tables stay writable: link it with -z relro");
  }
  auto sealed = [&](std::uint64_t begin, std::uint64_t end) {
    return begin >= sealed_begin && end <= sealed_end;
  };
  bool open = std::ranges::any_of(file_.segments(), [&](const ElfSegment& segment) {
    return segment.type == PT_LOAD && (segment.flags & PF_W) && segment.memory_size > 0 &&
           !sealed(segment.address, segment.address + segment.memory_size);
  });
  if (!open) return {};

  std::uint64_t section_bytes = 0;
  std::vector<std::size_t> writable;
  for (std::size_t i = 0; i < file_.sections().size(); ++i) {
    const ElfSection& section = file_.sections()[i];
    bool candidate = (section.flags & SHF_WRITE) && (section.flags & SHF_ALLOC) &&
                     section.size > 0 && section.address + section.size >= section.address &&
                     !sealed(section.address, section.address + section.size);
    if (!candidate) continue;
    writable.push_back(i);
    section_bytes += section.size;
  }
  const ElfSection* table = file_.section_of_type(SHT_SYMTAB);
  std::vector<ElfSymbol> symbols = table ? TRY(file_.symbols(*table)) : symbols_;
  std::uint64_t symbol_bytes = 0;
  const ElfSymbol* largest = nullptr;
  for (const ElfSymbol& symbol : symbols) {
    bool inside = std::ranges::find(writable, symbol.section) != writable.end();
    if (!inside || symbol.type != STT_OBJECT || symbol.size == 0) continue;
    symbol_bytes += std::min(symbol.size, section_bytes);
    if (!largest || symbol.size > largest->size) largest = &symbol;
  }
  if (!largest) {
    return no(
        fmt::format("it keeps state between calls ({} bytes of writable data)", section_bytes));
  }
  return no(fmt::format("it keeps state between calls ({} bytes of writable data, symbol '{}')",
                        symbol_bytes, excerpt(demangled(largest->name))));
}

Accepted<void> CpuBinary::check_libraries() {
  auto names = file_.at_address(dynamic(DT_STRTAB), dynamic(DT_STRSZ));
  if (!names) return no("the binary is damaged: its symbols have no names");
  for (std::uint64_t offset : needed_) {
    auto name = elf_string(*names, offset);
    if (!name) return no("the binary is damaged: a library has no name");
    if (std::ranges::find(kLibraries, *name) == kLibraries.end()) {
      return no(fmt::format("it needs the library '{}': only libm is available", excerpt(*name)));
    }
  }
  return {};
}

}  // namespace

Accepted<void> check_cpu_binary(std::string_view elf, std::string_view entry,
                                std::string_view signature) {
  return CpuBinary(TRY(ElfFile::parse(elf)), entry, signature).check();
}

}  // namespace specgen
