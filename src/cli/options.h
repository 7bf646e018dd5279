#pragma once
// Options with units and ranges for CLI11: each value is parsed once, into its type, and what is wrong with it is
// reported with the option's name. Plain text and numbers need no help of these: CLI::App::add_option parses them.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/units.h"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace specgen {

CLI::Option* add_flag(CLI::App& app, const char* name, bool& into, const char* help);

// Above zero, with a unit: 500ms, 20s, 1m30s.
CLI::Option* add_duration(CLI::App& app, const char* name, Duration& into, const char* help);
CLI::Option* add_duration(CLI::App& app, const char* name, std::optional<Duration>& into,
                          const char* help);

// 16GiB, 512MiB.
CLI::Option* add_size(CLI::App& app, const char* name, Bytes& into, const char* help);
CLI::Option* add_size(CLI::App& app, const char* name, std::optional<Bytes>& into,
                      const char* help);

// NAME=N, any number of times.
CLI::Option* add_assignments(CLI::App& app, const char* name,
                             std::map<std::string, std::int64_t>& into, const char* help);

// Ranges of numbers. Unlike CLI11's they refuse what is not a number (nan) and print limits readably.
CLI::Option* above_zero(CLI::Option* option);
CLI::Option* at_least(CLI::Option* option, double low);
CLI::Option* between(CLI::Option* option, double low, double high);

// Without a minus sign: CLI11 would convert -1 to the largest unsigned number.
CLI::Option* not_negative(CLI::Option* option);

// One of these names; the nearest is suggested for any other.
CLI::Option* one_of(CLI::Option* option, std::vector<std::string> names);

}  // namespace specgen
