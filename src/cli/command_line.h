#pragma once
// From words to what is to be done, for both programs. The parser behind it stays in
// command_line.cc; what it complains about comes out as an Error in our own words.

#include <chrono>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <variant>

#include "base/error.h"
#include "base/units.h"

namespace specgen {

struct ShowText {  // help or version
  std::string text;
  bool asked_for = true;  // else it is an answer to bad usage: standard error, exit code 2
};

struct CheckHost {  // `specgen doctor`, `specgen-node --check`
  bool json = false;
  Duration time_limit = std::chrono::seconds(20);
};

struct InternalProbe {  // our own child, see evaluate/internal_probe.h
  std::string what;
};

struct Invocation {
  std::optional<std::filesystem::path> config;
  std::variant<ShowText, CheckHost, InternalProbe> what;
};

// Without the program's name.
Result<Invocation> parse_specgen(std::span<const std::string> words);
Result<Invocation> parse_node(std::span<const std::string> words);

}  // namespace specgen
