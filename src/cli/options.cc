#include "cli/options.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <cmath>
#include <functional>

#include "base/text.h"

namespace specgen {
namespace {

Duration duration_of(const std::string& text, const char* name) {
  auto duration = parse_duration(text);
  if (duration && *duration > Duration::zero()) return *duration;
  throw CLI::ValidationError(
      name, fmt::format("'{}' is not a duration, such as 500ms, 20s or 1m30s", text));
}

Bytes size_of(const std::string& text, const char* name) {
  auto size = parse_bytes(text);
  if (size) return *size;
  throw CLI::ValidationError(name,
                             fmt::format("'{}' is not a size, such as 16GiB or 512MiB", text));
}

// "BLOCK=256"
std::pair<std::string, std::int64_t> assignment_of(const std::string& text, const char* name) {
  std::size_t equals = text.find('=');
  std::int64_t value = 0;
  const char* end = text.data() + text.size();
  const char* digits = equals == std::string::npos ? end : text.data() + equals + 1;
  auto [stop, error] = std::from_chars(digits, end, value);
  if (equals == 0 || digits == end || error != std::errc() || stop != end) {
    throw CLI::ValidationError(name, fmt::format("'{}' is not NAME=N, such as BLOCK=256", text));
  }
  return {text.substr(0, equals), value};
}

template <class Into>
CLI::Option* add_duration_into(CLI::App& app, const char* name, Into& into, const char* help) {
  return app
      .add_option_function<std::string>(
          name, [&into, name](const std::string& text) { into = duration_of(text, name); }, help)
      ->type_name("D");
}

template <class Into>
CLI::Option* add_size_into(CLI::App& app, const char* name, Into& into, const char* help) {
  return app
      .add_option_function<std::string>(
          name, [&into, name](const std::string& text) { into = size_of(text, name); }, help)
      ->type_name("SIZE");
}

CLI::Option* require(CLI::Option* option, std::function<bool(double)> holds, std::string range) {
  return option->check(CLI::Validator(
      [holds = std::move(holds), range = std::move(range)](const std::string& text) {
        double value = 0;
        if (CLI::detail::lexical_cast(text, value) && holds(value)) return std::string();
        return fmt::format("'{}' is not a number {}", text, range);
      },
      std::string()));
}

}  // namespace

CLI::Option* add_flag(CLI::App& app, const char* name, bool& into, const char* help) {
  return app.add_flag(name, into, help)->disable_flag_override();
}

CLI::Option* add_duration(CLI::App& app, const char* name, Duration& into, const char* help) {
  return add_duration_into(app, name, into, help);
}
CLI::Option* add_duration(CLI::App& app, const char* name, std::optional<Duration>& into,
                          const char* help) {
  return add_duration_into(app, name, into, help);
}

CLI::Option* add_size(CLI::App& app, const char* name, Bytes& into, const char* help) {
  return add_size_into(app, name, into, help);
}
CLI::Option* add_size(CLI::App& app, const char* name, std::optional<Bytes>& into,
                      const char* help) {
  return add_size_into(app, name, into, help);
}

CLI::Option* add_assignments(CLI::App& app, const char* name,
                             std::map<std::string, std::int64_t>& into, const char* help) {
  return app
      .add_option_function<std::vector<std::string>>(
          name,
          [&into, name](const std::vector<std::string>& texts) {
            for (const std::string& text : texts) {
              auto [key, value] = assignment_of(text, name);
              into[key] = value;
            }
          },
          help)
      ->type_name("NAME=N")
      ->allow_extra_args(false);  // the next argument is not another value of it
}

CLI::Option* above_zero(CLI::Option* option) {
  return require(option, [](double value) { return value > 0 && std::isfinite(value); }, "above 0");
}

CLI::Option* at_least(CLI::Option* option, double low) {
  return require(
      option, [low](double value) { return value >= low && std::isfinite(value); },
      fmt::format("of {} or more", low));
}

CLI::Option* between(CLI::Option* option, double low, double high) {
  return require(
      option, [=](double value) { return value >= low && value <= high; },
      fmt::format("between {} and {}", low, high));
}

CLI::Option* not_negative(CLI::Option* option) {
  return option->check(CLI::Validator(
      [](const std::string& text) {
        return text.starts_with('-') ? fmt::format("'{}' is not a valid number", text)
                                     : std::string();
      },
      std::string()));
}

CLI::Option* one_of(CLI::Option* option, std::vector<std::string> names) {
  return option->check(CLI::Validator(
      [names = std::move(names)](const std::string& text) {
        if (std::ranges::find(names, text) != names.end()) return std::string();
        return fmt::format("'{}' is none of {}{}", text, join(names, ", "),
                           did_you_mean(text, names));
      },
      std::string()));
}

}  // namespace specgen
