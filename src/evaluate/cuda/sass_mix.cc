#include "evaluate/cuda/sass_mix.h"

#include <fmt/core.h>

#include <array>
#include <boost/json.hpp>

#include "base/text.h"

namespace specgen {
namespace {

struct Counted {
  std::string_view opcode;
  std::string_view as;
  bool by_width;
};
constexpr std::array kCounted{
    Counted{"LDG", "LDG", true},
    Counted{"STG", "STG", true},
    Counted{"LDS", "LDS", true},
    Counted{"STS", "STS", true},
    Counted{"LDSM", "LDSM", false},
    Counted{"LDGSTS", "LDGSTS", true},
    Counted{"LDL", "LDL", false},
    Counted{"STL", "STL", false},
    Counted{"HMMA", "HMMA", false},
    Counted{"DMMA", "DMMA", false},
    Counted{"IMMA", "IMMA", false},
    Counted{"HGMMA", "WGMMA", false},
    Counted{"QGMMA", "WGMMA", false},
    Counted{"IGMMA", "WGMMA", false},
    Counted{"UTCHMMA", "TCGEN05", false},
    Counted{"FFMA", "FFMA", false},
    Counted{"FFMA2", "FFMA2", false},
    Counted{"FADD", "FADD", false},
    Counted{"FMUL", "FMUL", false},
    Counted{"DFMA", "DFMA", false},
    Counted{"HFMA2", "HFMA2", false},
    Counted{"MUFU", "MUFU", false},
    Counted{"BAR", "BAR", false},
    Counted{"SHFL", "SHFL", false},
    Counted{"ATOMG", "ATOM", false},
    Counted{"RED", "ATOM", false},
    Counted{"REDG", "ATOM", false},
    Counted{"UTMALDG", "TMA_LOAD", false},
    Counted{"UTMASTG", "TMA_STORE", false},
    Counted{"UBLKCP", "TMA_LOAD", false},
    Counted{"CALL", "CALL", false},
};

// "LDG.E.128.CONSTANT" -> "128"; 32 if there is none.
std::string_view width_of(const std::vector<std::string_view>& parts) {
  for (std::string_view part : parts) {
    for (std::string_view width : {"128", "64", "256"}) {
      if (part == width) return width;
    }
    if (part == "U8" || part == "S8") return "8";
    if (part == "U16" || part == "S16") return "16";
  }
  return "32";
}

// "        /*0010*/   @!P0 LDG.E.128 R4, [R2.64] ;    /* 0x... */" -> "LDG.E.128".
std::string_view opcode_in(std::string_view line) {
  line = trim(line);
  if (!line.starts_with("/*")) return {};
  std::size_t end = line.find("*/");
  if (end == std::string_view::npos) return {};
  std::string_view address = line.substr(2, end - 2);
  for (char c : address) {
    bool is_hex = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
    if (!is_hex) return {};  // the second line of an encoding begins with 0x
  }
  line = trim(line.substr(end + 2));
  if (line.starts_with("{")) line = trim(line.substr(1));
  if (line.starts_with("@")) {
    std::size_t space = line.find(' ');
    if (space == std::string_view::npos) return {};
    line = trim(line.substr(space));
  }
  std::size_t stop = line.find_first_of(" ;");
  return stop == std::string_view::npos ? line : line.substr(0, stop);
}

// "Function : name" of cuobjdump, ".text.name:" of nvdisasm.
std::string_view function_in(std::string_view line) {
  line = trim(line);
  constexpr std::string_view kFunction = "Function : ", kSection = ".text.";
  if (line.starts_with(kFunction)) return trim(line.substr(kFunction.size()));
  if (line.starts_with(kSection) && line.ends_with(':')) {
    return line.substr(kSection.size(), line.size() - kSection.size() - 1);
  }
  return {};
}

void count(SassMix& mix, std::string_view opcode) {
  std::vector<std::string_view> parts = split(opcode, '.');
  if (parts.front() == "NOP") return;
  ++mix.instructions;
  for (const Counted& counted : kCounted) {
    if (parts.front() != counted.opcode) continue;
    std::string name(counted.as);
    if (counted.by_width) name += "." + std::string(width_of(parts));
    ++mix.counts[name];
  }
}

int at(const SassMix& mix, const std::string& name) {
  auto found = mix.counts.find(name);
  return found == mix.counts.end() ? 0 : found->second;
}

}  // namespace

std::vector<SassMix> read_sass(std::string_view listing) {
  std::vector<SassMix> all;
  for (std::string_view line : split(listing, '\n')) {
    if (std::string_view name = function_in(line); !name.empty()) {
      all.push_back({.function = std::string(name), .counts = {}});
    } else if (std::string_view opcode = opcode_in(line); !opcode.empty() && !all.empty()) {
      count(all.back(), opcode);
    }
  }
  return all;
}

Json to_json(const SassMix& mix) {
  boost::json::object counts;
  for (const auto& [name, number] : mix.counts) counts[name] = number;
  return {{"function", mix.function},
          {"instructions", mix.instructions},
          {"counts", std::move(counts)}};
}

std::string remarks_on(const SassMix& mix) {
  std::string text;
  int spills = at(mix, "LDL") + at(mix, "STL");
  if (spills > 0) {
    text += fmt::format(
        " {} loads and stores of local memory: registers spill or an array is "
        "indexed at run time.",
        spills);
  }
  int narrow = at(mix, "LDG.32") + at(mix, "LDG.16") + at(mix, "LDG.8");
  int wide = at(mix, "LDG.64") + at(mix, "LDG.128") + at(mix, "LDG.256");
  if (narrow > 0 && wide == 0 && at(mix, "TMA_LOAD") == 0) {
    text += " All its global loads are 32 bits wide or less; 128 (float4) move more.";
  }
  if (int calls = at(mix, "CALL"); calls > 0) {
    text += fmt::format(" {} calls are not inlined.", calls);
  }
  return std::string(trim(text));
}

}  // namespace specgen
