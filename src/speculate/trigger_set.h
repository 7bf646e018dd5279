#pragma once
// The patterns that mark where a fork may be worth trying, one set per model family, read from triggers/*.toml.
// docs/reference/speculation.md has the format of the files.

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace specgen {

enum class TriggerCategory : std::uint8_t {
  code_finished,  // a code block has just ended
  decision_made,  // "I'll go with..."
  change_of_mind,  // "Wait, ...": the reasoning before it may be as good as this line of reasoning gets
  check_passed,  // "that looks right"
  interval,      // no other trigger for a while
};
std::string_view to_string(TriggerCategory category);

enum class CutRule : std::uint8_t {
  before_match,     // before the first letter or digit of the match
  after_match,      // behind the match
  after_line,       // behind the line in which the match ends
  after_paragraph,  // behind the paragraph in which the match ends
};
std::string_view to_string(CutRule rule);

struct TriggerPattern {
  std::string name;
  std::string regex;  // RE2 syntax, with the limits of check_trigger_regex()
  TriggerCategory category = TriggerCategory::decision_made;
  CutRule cut = CutRule::after_line;
  double weight = 1;  // from 0 (off) to 1; the gate compares it
  bool match_case = false;
};

struct TriggerSet {
  std::string family;               // "glm", "deepseek", "qwen", "any"
  std::string origin;               // the file, for error messages
  std::vector<std::string> models;  // parts of model names that select this set
  bool adds_to_any = false;  // also use the patterns of "any", except those with a name used here
  std::vector<TriggerPattern> patterns;
  std::int64_t interval_tokens = 0;  // 0: no interval triggers
  double interval_weight = 0.3;
};
Result<TriggerSet> parse_trigger_set(std::string_view toml, std::string_view origin);
// Returns the set for a model of this name, from the folders in order; the family "any" if no other fits.
Result<TriggerSet> find_trigger_set(const std::vector<std::filesystem::path>& folders,
                                    std::string_view model_name);
// Returns the set of one file. If it adds to "any", that set is read from the folders.
Result<TriggerSet> read_trigger_set(const std::filesystem::path& file,
                                    const std::vector<std::filesystem::path>& folders);

}  // namespace specgen
