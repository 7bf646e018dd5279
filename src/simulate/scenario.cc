#include "simulate/scenario.h"

#include <fmt/core.h>

#include <cmath>

#include "base/file.h"
#include "base/toml.h"
#include "speculate/stopping_policy.h"

namespace specgen {
namespace {

constexpr Duration kMax = std::chrono::hours(24 * 365 * 10);
constexpr double kMaxPerHour = 3600;

// Reads one table, with limits for each key. Keys that were renamed are still read by their old names.
class Keys {
 public:
  explicit Keys(TomlTable& table) : table_(table) {}

  void read(std::string_view key, double& value, double low, double high) {
    double read = table_.number(key, value);
    if (!(read >= low && read <= high)) {
      table_.reject(key, fmt::format("'{}' must be within {} and {}", key, low, high));
    } else {
      value = read;
    }
  }
  void share(std::string_view key, double& value) { read(key, value, 0, 1); }
  void read(std::string_view key, std::int64_t& value, std::int64_t low, std::int64_t high) {
    std::int64_t read = table_.integer(key, value);
    if (read < low || read > high) {
      table_.reject(key, fmt::format("'{}' must be within {} and {}", key, low, high));
    } else {
      value = read;
    }
  }
  void read(std::string_view key, int& value, int low, int high) {
    std::int64_t read_value = value;
    read(key, read_value, std::int64_t{low}, std::int64_t{high});
    value = static_cast<int>(read_value);
  }
  void read(std::string_view key, Duration& value, Duration low = {}) {
    if (!table_.has(key)) return;
    auto read = parse_duration(table_.text(key));
    if (!read) {
      table_.reject(key, fmt::format("'{}': {}", key, read.error().context));
    } else if (*read < low || *read > kMax) {
      table_.reject(key, fmt::format("'{}' must be within {} and {}", key, format_duration(low),
                                     format_duration(kMax)));
    } else {
      value = *read;
    }
  }
  void read(std::string_view key, std::string& value) { value = table_.text(key, value); }
  void read(std::string_view key, bool& value) { value = table_.flag(key, value); }
  void reject(std::string_view key, std::string_view why) { table_.reject(key, why); }
  // The name under which a renamed key is in the file.
  std::string_view either(std::string_view key, std::string_view old_key) {
    if (!table_.has(old_key)) return key;
    if (table_.has(key)) {
      table_.reject(old_key,
                    fmt::format("'{}' is the old name of '{}', which is given too", old_key, key));
    }
    return table_.has(key) ? key : old_key;
  }

 private:
  TomlTable& table_;
};

void read_run(Keys keys, ScenarioRun& run) {
  keys.read("workflow", run.workflow);
  keys.read("criterion", run.criterion);
  if (auto known = parse_criterion(run.criterion); !known) {
    keys.reject("criterion", fmt::format("'criterion': {}", known.error().context));
  }
  keys.read("triggers", run.triggers);
  keys.read("workflows", run.workflows, 1, 100'000);
  keys.read("iterations", run.iterations, 1, 1'000'000);
  keys.read(keys.either("max_streams", "thinkers"), run.max_streams, 0, 100'000);
  keys.read("token_budget", run.token_budget, 0, std::int64_t{1} << 50);
  keys.read("time_budget", run.time_budget);
  keys.read("max_tokens", run.max_tokens, 64, 10'000'000);
  keys.read("patience", run.patience);
}

void read_speculation(TomlTable& table, SpeculationSettings& speculation) {
  Keys keys(table);
  keys.read("harvest", speculation.harvest);
  keys.read("forks", speculation.forks);
  keys.read("early_stop", speculation.stopping.early_stop);
  keys.share("shadow", speculation.shadow);
  read_speculation_keys(table, speculation);
}

void read_model(Keys keys, ModelSettings& model) {
  EndpointSettings& endpoint = model.endpoint;
  keys.read("tokens_per_second", endpoint.tokens_per_second, 0.01, 1e6);
  keys.read("slowdown", endpoint.slowdown, 0, 100);
  keys.read("concurrency", endpoint.concurrency, 1, 1'000'000);
  keys.read("first_token", endpoint.first_token);
  keys.read("prefill_tokens_per_second", endpoint.prefill_tokens_per_second, 1, 1e9);
  keys.read("prefix_cache", endpoint.prefix_cache);
  keys.read("cache_lifetime", endpoint.cache_lifetime);
  keys.read("cached_prefixes", endpoint.cached_prefixes, 1, 10'000'000);
  WritingSettings& writing = model.writing;
  keys.read(keys.either("reasoning_tokens", "thinking_tokens"), writing.reasoning_tokens, 1, 1e6);
  keys.read(keys.either("reasoning_sigma", "thinking_sigma"), writing.reasoning_sigma, 0, 3);
  keys.read("answer_tokens", writing.answer_tokens, 1, 1e5);
  keys.read("answer_sigma", writing.answer_sigma, 0, 3);
  keys.read("advice_tokens", writing.advice_tokens, 1, 1e5);
  keys.share("no_kernel", writing.no_kernel);
  constexpr std::int64_t kMinDelta = 64;
  keys.read("delta_tokens", model.trace.part_tokens, kMinDelta, 100'000);
  keys.read("prompt_price", model.prices.prompt, 0, 1e6);
  keys.read("cached_price", model.prices.cached, 0, 1e6);
  keys.read("completion_price", model.prices.completion, 0, 1e6);
}

void read_text(Keys keys, TraceSettings& trace) {
  constexpr double kMaxPerThousand = 10;
  keys.read("drafts", trace.drafts, 0, kMaxPerThousand);
  keys.read("changes_of_mind", trace.changes_of_mind, 0, kMaxPerThousand);
  keys.read("decisions", trace.decisions, 0, kMaxPerThousand);
  keys.read("checks", trace.checks, 0, kMaxPerThousand);
}

void read_growth(Keys keys, Growth& success, Growth& gain) {
  keys.share("success_at_start", success.at_start);
  keys.share("success_at_end", success.at_end);
  keys.read("success_shape", success.shape, 0.01, 100);
  keys.read("gain_at_start", gain.at_start, -10, 10);
  keys.read("gain_at_end", gain.at_end, -10, 10);
  keys.read("gain_shape", gain.shape, 0.01, 100);
}

void read_kernels(TomlTable& table, SkillSettings& skill) {
  Keys keys(table);
  keys.share("success", skill.success);
  keys.share("repair_success", skill.repair_success);
  keys.read("first_speedup", skill.first_speedup, 0.01, 1000);
  keys.read("ceiling", skill.ceiling, 0.01, 10'000);
  keys.read("step", skill.step, 0, 1);
  keys.read("spread", skill.spread, 0, 3);
  keys.share("hopeless", skill.hopeless);
  keys.share("late", skill.late);
  keys.share("late_from", skill.late_from);
  keys.share("late_to", skill.late_to);
  keys.share("unripe", skill.unripe);
  if (skill.late_to < skill.late_from) {
    keys.reject("late_to", "'late_to' must not be below 'late_from'");
  }
  keys.read("tunable", skill.tunable);
  keys.share("draft_repeats", skill.draft_repeats);
  keys.read("fork_quality", skill.fork_quality, 0, 10);
  read_growth(Keys(table.table("fork")), skill.fork_success, skill.fork_gain);
  read_growth(Keys(table.table("draft")), skill.draft_success, skill.draft_gain);
  if (skill.ceiling < skill.first_speedup) {
    keys.reject("ceiling", "'ceiling' must not be below 'first_speedup'");
  }
}

void read_devices(Keys keys, Scenario& scenario) {
  HostSettings& host = scenario.host;
  keys.read("hosts", scenario.hosts, 1, 10'000);
  keys.read("per_host", host.devices, 1, 10'000);
  keys.read(keys.either("compile_slots_per_host", "lanes_per_host"), host.compile_slots, 1, 10'000);
  keys.read("compile", host.compile.median);
  keys.read("validate", host.validate.median);
  keys.read("profile", host.profile.median);
  keys.read("tune", host.tune.median);
  keys.read("prepare", host.prepare.median);
  double sigma = host.compile.sigma;
  keys.read("sigma", sigma, 0, 3);
  for (ServiceTime* time :
       {&host.compile, &host.validate, &host.profile, &host.tune, &host.prepare}) {
    time->sigma = sigma;
  }
  keys.read("screen_noise", host.screen_noise, 0, 1);
  keys.read("profile_noise", host.profile_noise, 0, 1);
}

void read_pool(Keys keys, PoolSettings& pool) {
  std::string form(to_string(pool.scheduler.form));
  keys.read("form", form);
  if (auto known = parse_pool_form(form)) {
    pool.scheduler.form = *known;
  } else {
    keys.reject("form", fmt::format("'form': {}", known.error().context));
  }
  keys.share("validating_share", pool.scheduler.validating_share);
  keys.read("switching_cost", pool.scheduler.switching_cost);
  keys.read("aging", pool.scheduler.aging, std::chrono::milliseconds(1));
  keys.read("compile_limit", pool.compile_limit, std::chrono::seconds(1));
  keys.read("device_limit", pool.device_limit, std::chrono::seconds(1));
  std::string after = "demote";
  keys.read("after_iteration", after);
  if (after != "demote" && after != "withdraw") {
    keys.reject("after_iteration", "'after_iteration' is demote or withdraw");
  } else if (after == "withdraw") {
    pool.after_iteration = PoolSettings::AfterIteration::withdraw;
  }
}

void read_faults(TomlTable& table, FaultSettings& faults) {
  Keys keys(table);
  for (std::size_t i = 0; i < kFaults; ++i) {
    auto fault = static_cast<Fault>(i);
    double max = is_probability(unit_of(fault)) ? 1 : kMaxPerHour;
    keys.read(to_string(fault), faults.rates[i], 0, max);
  }
  keys.read("slow_factor", faults.slow_factor, 1, 1000);
  Keys lasts(table.table("lasts"));
  lasts.read("overload_storm", faults.storm);
  lasts.read("outage", faults.outage);
  lasts.read("slow_tokens", faults.slow_tokens);
  lasts.read("slow_device", faults.slow_device);
  lasts.read("node_crash", faults.node_away);
  lasts.read("disk_full", faults.disk_full);
  lasts.read("controller_kill", faults.restart);
}

void read_checks(Keys keys, ScenarioChecks& checks) {
  keys.read("fold_every", checks.fold_every, 0, 1'000'000'000);
  keys.read("starvation", checks.starvation, std::chrono::seconds(1));
  keys.read(keys.either("max_time", "most_time"), checks.max_time, std::chrono::seconds(1));
}

Result<Scenario> read_scenario(TomlFile file, std::string name) {
  Scenario scenario;
  scenario.name = std::move(name);
  TomlTable& root = file.root();
  scenario.title = root.text("title", scenario.name);
  read_run(Keys(root.table("run")), scenario.run);
  read_speculation(root.table("speculation"), scenario.speculation);
  read_model(Keys(root.table("model")), scenario.model);
  read_text(Keys(root.table("text")), scenario.model.trace);
  read_kernels(root.table("kernels"), scenario.model.skill);
  read_devices(Keys(root.table("devices")), scenario);
  read_pool(Keys(root.table("pool")), scenario.pool);
  read_faults(root.table("faults"), scenario.faults);
  read_checks(Keys(root.table("checks")), scenario.checks);
  if (auto read = file.finish(); !read) {
    Error error = std::move(read).error();
    return fail(ErrorCode::bad_scenario, std::move(error.context), std::move(error.advice));
  }
  return scenario;
}

}  // namespace

Result<Scenario> load_scenario(const std::filesystem::path& file) {
  return read_scenario(TRY(TomlFile::read(file)), file.string());
}

Result<Scenario> parse_scenario(std::string_view toml, std::string name) {
  return read_scenario(TRY(TomlFile::parse(toml, name)), name);
}

}  // namespace specgen
