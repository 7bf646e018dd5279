#include "speculate/speculation_settings.h"

#include <fmt/core.h>

#include <string>
#include <string_view>

namespace specgen {
namespace {

constexpr std::int64_t kMaxInteger = 1'000'000'000;

class Keys {
 public:
  explicit Keys(TomlTable& table) : table_(table) {}

  template <class Integer>
  void integer(std::string_view name, Integer& value, std::string_view old_name = {}) {
    std::string_view key = given(name, old_name);
    std::int64_t read = table_.integer(key, static_cast<std::int64_t>(value));
    if (read < 0 || read > kMaxInteger) {
      return table_.reject(key, fmt::format("'{}' must be from 0 to {}", key, kMaxInteger));
    }
    value = static_cast<Integer>(read);
  }
  void number(std::string_view name, double& value, std::string_view old_name = {}) {
    std::string_view key = given(name, old_name);
    double read = table_.number(key, value);
    if (!(read >= 0)) return table_.reject(key, fmt::format("'{}' must be 0 or more", key));
    value = read;
  }
  void duration(std::string_view name, Duration& value, std::string_view old_name = {}) {
    std::string_view key = given(name, old_name);
    if (!table_.has(key)) return;
    auto read = parse_duration(table_.text(key));
    if (!read) return table_.reject(key, fmt::format("'{}': {}", key, read.error().context));
    value = *read;
  }

 private:
  // The name that the file uses.
  std::string_view given(std::string_view name, std::string_view old_name) {
    if (old_name.empty() || !table_.has(old_name)) return name;
    if (table_.has(name)) {
      table_.reject(old_name, fmt::format("'{}' is the former name of '{}'; remove one of them",
                                          old_name, name));
    }
    return old_name;
  }

  TomlTable& table_;
};

}  // namespace

void read_speculation_keys(TomlTable& table, SpeculationSettings& settings) {
  Keys keys(table);
  GateSettings& gate = settings.gate;
  keys.integer("first_after_tokens", gate.first_after_tokens);
  keys.integer("gap_tokens", gate.gap_tokens);
  keys.integer("max_in_flight", gate.max_in_flight, "most_in_flight");
  keys.integer("max_per_iteration", gate.max_per_iteration, "most_per_iteration");
  keys.integer("min_new_bytes", gate.min_new_bytes, "least_new_bytes");
  keys.number("min_weight", gate.min_weight, "least_weight");
  keys.number("min_weight_when_busy", gate.min_weight_when_busy, "least_weight_when_busy");
  keys.number("token_share", gate.token_share);
  keys.integer("free_tokens", gate.free_tokens);
  keys.duration("max_wait", gate.max_wait, "longest_wait");
  keys.number("max_waiting", gate.max_waiting, "most_waiting");
  keys.integer("forgiven_failures", gate.forgiven_failures);
  keys.integer("probe_every", gate.probe_every);

  StoppingSettings& stopping = settings.stopping;
  keys.integer("abandon_after_failures", stopping.abandon_after_failures, "give_up_after");
  keys.number("settle_after", stopping.settle_after);
  keys.integer("max_restarts", stopping.max_restarts, "begin_again");

  keys.integer("max_repairs", settings.max_repairs, "most_mended");
}

}  // namespace specgen
