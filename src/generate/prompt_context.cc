#include "generate/prompt_context.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <boost/json.hpp>
#include <cmath>

#include "base/json_storage.h"
#include "base/text.h"

namespace specgen {
namespace {

constexpr std::string_view kFence = "```";
constexpr std::string_view kOpening = "```specgen-context";
constexpr std::array<std::string_view, 7> kRoles{"writer", "repair",     "diff",     "mend",
                                                 "judge",  "bottleneck", "reflexion"};

std::unexpected<Error> damaged(std::string what) {
  return fail(ErrorCode::bad_json, "specgen-context: " + std::move(what));
}

// Reads the members of one object, and finds unknown ones.
class Members {
 public:
  static Result<Members> of(const Json& value, std::string where) {
    if (!value.is_object()) return damaged(where + " is not an object");
    return Members(value.get_object(), std::move(where));
  }

  Result<void> read(std::string_view key, std::string& text) {
    const Json* found = take(key);
    if (!found) return {};
    if (!found->is_string()) return wrong(key, "a text");
    text = std::string(found->get_string());
    return {};
  }
  Result<void> read(std::string_view key, double& number) {
    const Json* found = take(key);
    if (!found) return {};
    if (!found->is_number()) return wrong(key, "a number");
    number = found->to_number<double>();
    return {};
  }
  template <class Integer>
  Result<void> read_integer(std::string_view key, Integer& number) {
    const Json* found = take(key);
    if (!found) return {};
    boost::system::error_code error;
    bool is_integer = found->is_int64() || found->is_uint64();
    Integer read = is_integer ? found->to_number<Integer>(error) : Integer();
    if (error || !is_integer) return wrong(key, "an integer");
    number = read;
    return {};
  }
  const Json* take(std::string_view key) {
    known_.emplace_back(key);
    auto found = object_->find(key);
    return found == object_->end() ? nullptr : &found->value();
  }

  Result<void> no_unknown_members() const {
    for (const auto& [key, _] : *object_) {
      std::string name(key);
      if (std::ranges::find(known_, name) == known_.end()) {
        return damaged(
            fmt::format("{} has no member '{}'{}", where_, name, did_you_mean(name, known_)));
      }
    }
    return {};
  }
  std::unexpected<Error> wrong(std::string_view key, std::string_view wanted) const {
    return damaged(fmt::format("'{}' of {} is not {}", key, where_, wanted));
  }

 private:
  Members(const boost::json::object& object, std::string where)
      : object_(&object), where_(std::move(where)) {}

  const boost::json::object* object_;
  std::string where_;
  std::vector<std::string> known_;
};

Result<PromptFeedback> feedback_from(const Json& json, std::size_t index) {
  Members members = TRY(Members::of(json, fmt::format("feedback[{}]", index)));
  PromptFeedback feedback;
  TRY(members.read("source", feedback.source));
  TRY(members.read("verdict", feedback.verdict));
  TRY(members.read("speedup", feedback.speedup));
  TRY(members.read("evidence", feedback.evidence));
  TRY(members.no_unknown_members());
  if (feedback.verdict.empty()) return members.wrong("verdict", "a verdict");
  if (feedback.speedup < 0) return members.wrong("speedup", "a speedup");
  return feedback;
}

Result<PromptContext> context_from(const Json& json) {
  Members members = TRY(Members::of(json, "the context"));
  PromptContext context;
  TRY(members.read("role", context.role));
  TRY(members.read("task", context.task));
  TRY(members.read("backend", context.backend));
  TRY(members.read("baseline", context.baseline));
  TRY(members.read("parent_source", context.parent_source));
  if (const Json* list = members.take("feedback")) {
    if (!list->is_array()) return members.wrong("feedback", "a list");
    for (const Json& each : list->get_array()) {
      context.feedback.push_back(TRY(feedback_from(each, context.feedback.size())));
    }
  }
  TRY(members.read("advice", context.advice));
  TRY(members.read_integer("iteration", context.iteration));
  TRY(members.read_integer("seed", context.seed));
  TRY(members.no_unknown_members());
  if (std::ranges::find(kRoles, context.role) == kRoles.end()) {
    std::vector<std::string> roles(kRoles.begin(), kRoles.end());
    return damaged(fmt::format("there is no role '{}'{}; roles are {}", context.role,
                               did_you_mean(context.role, roles), join(roles, ", ")));
  }
  if (context.task.empty()) return damaged("'task' is missing");
  if (context.backend != "cpu" && context.backend != "cuda") {
    return members.wrong("backend", "cpu or cuda");
  }
  return context;
}

// Offsets of the last block in a prompt: of its JSON, and including its fences.
struct Block {
  std::size_t outer_begin = 0, begin = 0, end = 0, outer_end = 0;
  bool is_closed = false;
};

std::optional<Block> last_block(std::string_view prompt) {
  std::optional<Block> block;
  bool inside = false;
  // From fence to fence: prompts are long and have few fences.
  std::size_t fence = prompt.find(kFence);
  while (fence != std::string_view::npos) {
    std::size_t line_begin = prompt.rfind('\n', fence) + 1;  // 0 if there is none
    std::size_t line_end = std::min(prompt.find('\n', fence), prompt.size());
    std::size_t next_line = std::min(line_end + 1, prompt.size());
    std::string_view word = trim(prompt.substr(line_begin, line_end - line_begin));
    if (!inside && word == kOpening) {
      inside = true;
      block = Block{.outer_begin = line_begin, .begin = next_line};
    } else if (inside && word == kFence) {
      inside = false;
      block->end = line_begin;
      block->outer_end = next_line;
      block->is_closed = true;
    }
    fence = prompt.find(kFence, line_end);
  }
  return block;
}

}  // namespace

std::string to_prompt_block(const PromptContext& context) {
  boost::json::array feedback;
  for (const PromptFeedback& each : context.feedback) {
    feedback.push_back({{"source", each.source},
                        {"verdict", each.verdict},
                        {"speedup", std::isfinite(each.speedup) ? each.speedup : 0.0},
                        {"evidence", each.evidence}});
  }
  boost::json::value json{{"role", context.role},
                          {"task", context.task},
                          {"backend", context.backend},
                          {"baseline", context.baseline},
                          {"parent_source", context.parent_source},
                          {"feedback", std::move(feedback)},
                          {"advice", context.advice},
                          {"iteration", context.iteration},
                          {"seed", context.seed}};
  // On one line: no line of a source can look like the end of the block.
  return fmt::format("{}\n{}\n{}\n", kOpening, compact_json(json), kFence);
}

Result<std::optional<PromptContext>> find_prompt_context(std::string_view prompt) {
  std::optional<Block> block = last_block(prompt);
  if (!block) return std::nullopt;
  if (!block->is_closed) return damaged("the block is not closed");
  boost::json::monotonic_resource memory;
  auto json = parse_json(prompt.substr(block->begin, block->end - block->begin), &memory);
  if (!json) return damaged(json.error().context);
  return TRY(context_from(*json));
}

std::string prompt_for_language_models(std::string_view prompt) {
  auto context = find_prompt_context(prompt);
  if (!context || !*context) return std::string(prompt);
  PromptContext brief = std::move(**context);
  brief.baseline.clear();
  brief.parent_source.clear();
  brief.advice.clear();
  for (PromptFeedback& feedback : brief.feedback)
    feedback = {.verdict = feedback.verdict, .speedup = feedback.speedup};
  Block block = *last_block(prompt);
  return fmt::format("{}{}{}", prompt.substr(0, block.outer_begin), to_prompt_block(brief),
                     prompt.substr(block.outer_end));
}

}  // namespace specgen
