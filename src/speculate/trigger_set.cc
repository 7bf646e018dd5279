#include "speculate/trigger_set.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <set>

#include "base/file.h"
#include "base/text.h"
#include "base/toml.h"
#include "speculate/trigger_matcher.h"

namespace specgen {
namespace fs = std::filesystem;
namespace {

constexpr std::size_t kMaxPatterns = 256;
constexpr std::int64_t kMaxInterval = 1'000'000;
constexpr Bytes kMaxFile = MiB(1);
constexpr std::string_view kAny = "any";

constexpr std::array kCategories{
    std::pair{TriggerCategory::code_finished, std::string_view("code_finished")},
    std::pair{TriggerCategory::decision_made, std::string_view("decision_made")},
    std::pair{TriggerCategory::change_of_mind, std::string_view("change_of_mind")},
    std::pair{TriggerCategory::check_passed, std::string_view("check_passed")},
    std::pair{TriggerCategory::interval, std::string_view("interval")}};
constexpr std::array kCuts{
    std::pair{CutRule::before_match, std::string_view("before_match")},
    std::pair{CutRule::after_match, std::string_view("after_match")},
    std::pair{CutRule::after_line, std::string_view("after_line")},
    std::pair{CutRule::after_paragraph, std::string_view("after_paragraph")}};

// Reads one of the names in `known`, or rejects the key.
template <class Table, class Value>
void read_name(TomlTable& table, std::string_view key, const Table& known, Value& value) {
  std::string name = table.text(key);
  std::vector<std::string> names;
  for (const auto& [each, each_name] : known) {
    if (each_name == name) {
      value = each;
      return;
    }
    names.emplace_back(each_name);
  }
  if (table.has(key)) {
    table.reject(key, fmt::format("'{}' is none of {}{}", name, join(names, ", "),
                                  did_you_mean(name, names)));
  }
}

TriggerPattern read_pattern(TomlTable& table) {
  TriggerPattern pattern;
  pattern.name = table.text("name");
  pattern.regex = table.text("regex");
  pattern.match_case = table.flag("match_case");
  pattern.weight = table.number("weight", pattern.weight);
  read_name(table, "category", std::span(kCategories).first(kCategories.size() - 1),
            pattern.category);
  read_name(table, "cut", kCuts, pattern.cut);
  for (std::string_view needed : {"name", "regex", "category"}) {
    if (!table.has(needed)) table.reject(needed, fmt::format("a pattern needs a {}", needed));
  }
  if (!(pattern.weight >= 0 && pattern.weight <= 1)) {
    table.reject("weight", "a weight is between 0 and 1");
  }
  if (auto checked = check_trigger_regex(pattern.regex); !checked && table.has("regex")) {
    table.reject("regex",
                 fmt::format("pattern '{}': {}: {}", pattern.name, pattern.regex, checked.error()));
  }
  return pattern;
}

Error as_bad_triggers(Error error) {
  if (error.code == ErrorCode::bad_config) error.code = ErrorCode::bad_triggers;
  return error;
}

Result<TriggerSet> read_file_alone(const fs::path& file) {
  return parse_trigger_set(TRY(read_file(file, kMaxFile)), file.string());
}

std::vector<fs::path> toml_files(const fs::path& folder) {
  std::vector<fs::path> files;
  std::error_code trouble;
  for (fs::directory_iterator entry(folder, trouble), end; !trouble && entry != end;
       entry.increment(trouble)) {
    if (entry->path().extension() == ".toml") files.push_back(entry->path());
  }
  std::ranges::sort(files);
  return files;
}

std::string lower(std::string_view text) {
  std::string small(text);
  for (char& c : small) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return small;
}

// Returns the length of the longest entry of `models` that the name contains.
std::size_t fit(const TriggerSet& set, std::string_view model_name) {
  std::size_t best = 0;
  for (const std::string& part : set.models) {
    if (model_name.contains(lower(part))) best = std::max(best, part.size());
  }
  return best;
}

Result<std::vector<TriggerSet>> all_sets(const std::vector<fs::path>& folders) {
  std::vector<TriggerSet> sets;
  for (const fs::path& folder : folders) {
    for (const fs::path& file : toml_files(folder)) sets.push_back(TRY(read_file_alone(file)));
  }
  return sets;
}

Result<TriggerSet> completed(TriggerSet set, const std::vector<TriggerSet>& others,
                             const std::vector<fs::path>& folders) {
  if (!set.adds_to_any || set.family == kAny) return set;
  auto any = std::ranges::find(others, kAny, &TriggerSet::family);
  if (any == others.end()) {
    std::vector<std::string> places;
    for (const fs::path& folder : folders) places.push_back(folder.string());
    return fail(ErrorCode::bad_triggers,
                fmt::format("{}: the set 'any' that it adds to is not in {}", set.origin,
                            places.empty() ? "any folder" : join(places, ", ")));
  }
  for (const TriggerPattern& pattern : any->patterns) {
    bool replaced = std::ranges::any_of(
        set.patterns, [&](const TriggerPattern& ours) { return ours.name == pattern.name; });
    if (!replaced) set.patterns.push_back(pattern);
  }
  if (set.interval_tokens == 0) {
    set.interval_tokens = any->interval_tokens;
    set.interval_weight = any->interval_weight;
  }
  return set;
}

}  // namespace

std::string_view to_string(TriggerCategory category) {
  return std::ranges::find(kCategories, category, [](const auto& pair) { return pair.first; })
      ->second;
}

std::string_view to_string(CutRule rule) {
  return std::ranges::find(kCuts, rule, [](const auto& pair) { return pair.first; })->second;
}

Result<TriggerSet> parse_trigger_set(std::string_view toml, std::string_view origin) {
  auto file = TomlFile::parse(toml, std::string(origin));
  if (!file) return std::unexpected(as_bad_triggers(file.error()));
  TomlTable& root = file->root();
  TriggerSet set;
  set.origin = origin;
  set.family = root.text("family");
  if (set.family.empty()) root.reject("family", "a set needs the name of its model family");
  set.models = root.texts("models");
  if (std::ranges::count(set.models, "") > 0) root.reject("models", "a part of a name is empty");
  set.adds_to_any = root.flag("adds_to_any");
  set.interval_tokens = root.integer("interval_tokens");
  set.interval_weight = root.number("interval_weight", set.interval_weight);
  if (set.interval_tokens < 0 || set.interval_tokens > kMaxInterval) {
    root.reject("interval_tokens", fmt::format("it is not between 0 and {}", kMaxInterval));
  }
  if (!(set.interval_weight >= 0 && set.interval_weight <= 1)) {
    root.reject("interval_weight", "a weight is between 0 and 1");
  }
  std::set<std::string> names;
  for (TomlTable* table : root.tables("pattern")) {
    set.patterns.push_back(read_pattern(*table));
    if (!names.insert(set.patterns.back().name).second) {
      table->reject("name", fmt::format("there is another pattern '{}'", set.patterns.back().name));
    }
    if (names.size() > kMaxPatterns) {
      table->reject("name", fmt::format("there are more than {} patterns", kMaxPatterns));
      break;
    }
  }
  if (auto finished = file->finish(); !finished) {
    return std::unexpected(as_bad_triggers(finished.error()));
  }
  return set;
}

Result<TriggerSet> find_trigger_set(const std::vector<fs::path>& folders,
                                    std::string_view model_name) {
  const std::string name = lower(model_name);
  std::vector<TriggerSet> sets = TRY(all_sets(folders));
  const TriggerSet* best = nullptr;
  for (const TriggerSet& set : sets) {
    std::size_t here = fit(set, name), there = best ? fit(*best, name) : 0;
    if (here > there || (!best && set.family == kAny)) best = &set;
  }
  if (!best) {
    return fail(ErrorCode::bad_triggers,
                fmt::format("there is no set for '{}', and none for 'any' model", model_name));
  }
  return completed(*best, sets, folders);
}

Result<TriggerSet> read_trigger_set(const fs::path& file, const std::vector<fs::path>& folders) {
  TriggerSet set = TRY(read_file_alone(file));
  if (!set.adds_to_any) return set;
  return completed(std::move(set), TRY(all_sets(folders)), folders);
}

}  // namespace specgen
