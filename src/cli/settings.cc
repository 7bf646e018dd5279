#include "cli/settings.h"

#include <fmt/core.h>

#include <vector>

#include "base/environment.h"
#include "base/file.h"
#include "base/toml.h"

namespace specgen {
namespace fs = std::filesystem;
namespace {

constexpr std::string_view kFileName = "specgen.toml";
constexpr Bytes kLargestFile = MiB(1);
constexpr std::int64_t kMaxConcurrent = 4096;

std::string program(TomlTable& table, std::string_view key, std::string fallback) {
  std::string name = table.text(key, fallback);
  if (table.has(key) && name.empty()) table.reject(key, fmt::format("'{}' is empty", key));
  return name;
}

double price(TomlTable& prices, std::string_view key, double fallback) {
  double value = prices.number(key, fallback);
  if (!(value >= 0)) prices.reject(key, fmt::format("'{}' is below 0", key));
  return value;
}

NamedModel read_model(TomlTable& table, std::string name) {
  NamedModel model;
  model.name = std::move(name);
  model.url = program(table, "url", {});
  model.model = program(table, "model", model.name);
  model.profile = program(table, "profile", {});
  model.key_env = program(table, "key_env", {});
  model.key_file = program(table, "key_file", {});
  model.fork = program(table, "fork", {});
  model.http2 = table.flag("http2");
  model.priorities = table.flag("priorities");
  model.max_concurrent = table.integer("max_concurrent", model.max_concurrent);
  TomlTable& prices = table.table("prices");
  model.prices.prompt = price(prices, "prompt", 0);
  model.prices.cached = price(prices, "cached", model.prices.prompt);
  model.prices.completion = price(prices, "completion", 0);

  auto check = [&](std::string_view key, const auto& result) {
    if (result) return;
    table.reject(key, fmt::format("{}; {}", result.error().context, result.error().what_to_do()));
  };
  if (!table.has("url")) table.reject("url", fmt::format("'{}' has no url", model.name));
  if (!model.url.empty()) check("url", parse_endpoint_url(model.url));
  if (!model.profile.empty()) check("profile", find_profile(model.profile));
  if (!model.fork.empty()) check("fork", parse_fork_strategy(model.fork));
  if (!model.key_env.empty() && !model.key_file.empty()) {
    table.reject("key_file", "a key comes from key_env or from key_file, not from both");
  }
  if (model.max_concurrent < 1 || model.max_concurrent > kMaxConcurrent) {
    table.reject("max_concurrent",
                 fmt::format("'max_concurrent' must be from 1 to {}", kMaxConcurrent));
  }
  return model;
}

std::vector<fs::path> places() {
  std::vector<fs::path> all{kFileName};
  if (fs::path folder = config_folder(); !folder.empty()) all.push_back(folder / kFileName);
  return all;
}

// Reads numbers into their defaults; one out of its range is reported with its line.
class Numbers {
 public:
  explicit Numbers(TomlTable& table) : table_(table) {}
  template <class Integer>
  void integer(std::string_view key, Integer& value, std::int64_t min = 0) {
    std::int64_t given = table_.integer(key, static_cast<std::int64_t>(value));
    if (given < min || given > 1'000'000'000) {
      table_.reject(key, fmt::format("it must be {} or more", min));
    }
    value = static_cast<Integer>(std::max(min, given));
  }
  void share(std::string_view key, double& value) {
    double given = table_.number(key, value);
    if (!(given >= 0 && given <= 1)) table_.reject(key, "it must be from 0 to 1");
    value = given;
  }

 private:
  TomlTable& table_;
};

EvolutionSettings read_evolution(TomlTable& table) {
  EvolutionSettings evolution;
  Numbers numbers(table);
  numbers.integer("islands", evolution.islands, 1);
  numbers.integer("population", evolution.population, 1);
  numbers.integer("archive", evolution.archive, 1);
  numbers.integer("bins", evolution.bins, 1);
  numbers.share("explore", evolution.explore);
  numbers.share("exploit", evolution.exploit);
  if (evolution.explore + evolution.exploit > 1) {
    table.reject("exploit", "'explore' and 'exploit' together are above 1");
  }
  numbers.integer("top", evolution.top);
  numbers.integer("diverse", evolution.diverse);
  numbers.integer("inspirations", evolution.inspirations);
  numbers.integer("migration_interval", evolution.migration_interval, 1);
  numbers.share("migration_share", evolution.migration_share);
  numbers.share("rewrites", evolution.rewrites);
  return evolution;
}

}  // namespace

fs::path config_folder() {
  std::string config = environment_variable("XDG_CONFIG_HOME").value_or("");
  std::string home = environment_variable("HOME").value_or("");
  if (config.empty() && !home.empty()) config = (fs::path(home) / ".config").string();
  return config.empty() ? fs::path() : fs::path(config) / "specgen";
}

Result<Settings> parse_settings(std::string_view text, std::string name) {
  TomlFile file = TRY(TomlFile::parse(text, std::move(name)));
  Settings settings;
  TomlTable& tools = file.root().table("tools");
  settings.compiler = program(tools, "compiler", {});
  settings.python = program(tools, "python", settings.python);
  settings.ncu = program(tools, "ncu", settings.ncu);
  TomlTable& runs = file.root().table("runs");
  settings.runs_folder = program(runs, "folder", settings.runs_folder.string());
  if (std::string size = runs.text("min_free"); runs.has("min_free")) {
    auto bytes = parse_bytes(size);
    if (bytes) settings.min_free = *bytes;
    if (!bytes) {
      runs.reject("min_free", fmt::format("{}; {}", bytes.error().context, bytes.error().advice));
    }
  }
  read_speculation_keys(file.root().table("speculation"), settings.speculation);
  settings.evolution = read_evolution(file.root().table("evolution"));
  TomlTable& models = file.root().table("models");
  for (const std::string& model : models.names()) {
    settings.models.push_back(read_model(models.table(model), model));
  }
  TRY(file.finish());
  return settings;
}

Result<Settings> load_settings(const std::optional<fs::path>& asked_for) {
  std::vector<fs::path> candidates = asked_for ? std::vector{*asked_for} : places();
  for (const fs::path& candidate : candidates) {
    // A folder that cannot be entered (another user's home) has no settings for us.
    std::error_code hidden;
    if (!asked_for && !fs::exists(candidate, hidden)) continue;
    std::string text = TRY(read_file(candidate, kLargestFile));
    Settings settings = TRY(parse_settings(text, candidate.string()));
    settings.source = candidate;
    return settings;
  }
  return Settings{};
}

HostProbe host_probe(const Settings& settings) {
  HostProbe probe;
  if (!settings.compiler.empty()) probe.compilers = {settings.compiler};
  probe.python = settings.python;
  probe.ncu = settings.ncu;
  probe.runs_folder = settings.runs_folder;
  return probe;
}

}  // namespace specgen
