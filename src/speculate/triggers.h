#pragma once
// Where in a stream of reasoning a fork is worth trying. Patterns come from triggers/*.toml, a set for each model
// family; they are compiled once (Hyperscan in streaming mode; RE2 where it is not there) and shared by all streams. A
// stream's scanner is fed deltas as they come: a match that is split over many deltas fires once, at the delta that
// completes it. How the reasoning is cut into deltas changes nothing. docs/reference/speculation.md has the format of the files
// and all the rules.

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace specgen {

enum class TriggerCategory : std::uint8_t {
  code_finished,   // a block of code has just ended
  decision_made,   // "I'll go with..."
  change_of_mind,  // "Wait, ...": what was thought so far may be as good as it gets
  check_passed,    // "that looks right"
  interval,        // nothing of the above for a while
};
std::string_view to_string(TriggerCategory category);

enum class CutRule : std::uint8_t {
  before_match,     // without the words that fired
  after_match,      // with them
  after_line,       // with the rest of their line, as soon as it is there
  after_paragraph,  // with the rest of their paragraph
};
std::string_view to_string(CutRule rule);

struct TriggerPattern {
  std::string name;
  std::string regex;
  TriggerCategory category = TriggerCategory::decision_made;
  CutRule cut = CutRule::after_line;
  double weight = 1;  // how promising; the gate asks
  bool match_case = false;
};

struct TriggerSet {
  std::string family;               // "glm", "deepseek", "qwen", "any"
  std::string origin;               // the file, for messages
  std::vector<std::string> models;  // a model whose name has one of these is of the family
  bool adds_to_any = false;         // the patterns of "any" count too, unless one has the same name
  std::vector<TriggerPattern> patterns;
  std::int64_t interval_tokens = 0;  // 0: no interval triggers
  double interval_weight = 0.3;
};
Result<TriggerSet> parse_trigger_set(std::string_view toml, std::string_view origin);
// The set for a model of this name, from the folders in order; the family "any" if no other fits.
Result<TriggerSet> find_trigger_set(const std::vector<std::filesystem::path>& folders,
                                    std::string_view model_name);
// The set of one file; what it adds to is looked for in the folders.
Result<TriggerSet> read_trigger_set(const std::filesystem::path& file,
                                    const std::vector<std::filesystem::path>& folders);

struct Trigger {
  const TriggerPattern* pattern = nullptr;  // of the set; null: an interval
  TriggerCategory category = TriggerCategory::interval;
  double weight = 1;
  std::size_t offset =
      0;  // in the stream's reasoning, in bytes: where to cut, before moving to a safe place
};

class TriggerScanner;

enum class EngineChoice : std::uint8_t { best, hyperscan, re2 };

// Compiled patterns. Outlives its scanners; of one thread.
class Triggers {
 public:
  static Result<std::unique_ptr<Triggers>> compile(TriggerSet set,
                                                   EngineChoice choice = EngineChoice::best);
  ~Triggers();
  const TriggerSet& set() const;
  std::string_view engine() const;  // "hyperscan" or "re2"
  std::size_t state_bytes() const;  // of one stream, the scanner and its part of the engine

 private:
  friend class TriggerScanner;
  class State;
  explicit Triggers(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

class TriggerScanner {
 public:
  explicit TriggerScanner(Triggers& triggers);
  TriggerScanner(TriggerScanner&&) noexcept;
  TriggerScanner& operator=(TriggerScanner&&) noexcept;
  ~TriggerScanner();

  // Appends what this delta completes to `found`, in the order of their offsets.
  void feed(std::string_view reasoning, std::vector<Trigger>& found);

 private:
  friend class Triggers;
  class State;
  std::unique_ptr<State> state_;
};

}  // namespace specgen
