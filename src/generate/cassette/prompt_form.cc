#include "generate/cassette/prompt_form.h"

#include <algorithm>
#include <array>
#include <boost/json.hpp>
#include <span>

#include "base/text.h"
#include "generate/openai/chunk_reader.h"

namespace specgen {
namespace {

// Quoted reasoning is found by its first characters; fewer could occur by chance.
constexpr std::size_t kAnchor = 24;

std::string text_of_content(const Json* content) {
  if (!content) return {};
  if (content->is_string()) return std::string(content->get_string());
  std::string all;
  if (const auto* parts = content->if_array()) {
    for (const Json& part : *parts) all += text_at(part, "text");
  }
  return all;
}

std::vector<Turn> read_turns(const Json& messages) {
  std::vector<Turn> turns;
  if (!messages.is_array()) return turns;
  for (const Json& message : messages.get_array()) {
    std::string reasoning = text_at(message, "reasoning_content");
    if (reasoning.empty()) reasoning = text_at(message, "reasoning");
    turns.push_back({text_at(message, "role"), std::move(reasoning),
                     text_of_content(member_at(message, "content"))});
  }
  return turns;
}

void read_raw(const Json& prompt, PromptForm& form) {
  if (prompt.is_string()) form.raw = std::string(prompt.get_string());
  const auto* items = prompt.if_array();
  if (!items || items->empty()) return;
  if (!items->front().is_int64()) {
    if (items->size() == 1) read_raw(items->front(), form);  // a list of one prompt
    return;
  }
  for (const Json& id : *items) {
    if (!id.is_int64()) return form.token_ids.clear();
    form.token_ids.push_back(static_cast<std::int32_t>(id.get_int64()));
  }
}

std::string path_of(std::string_view target) {
  return std::string(target.substr(0, target.find('?')));
}

std::size_t common_prefix(std::string_view a, std::string_view b) {
  return static_cast<std::size_t>(std::ranges::mismatch(a, b).in1 - a.begin());
}

// White space at the end may belong to the reasoning or to the closing mark.
std::size_t without_space(std::string_view text, std::size_t length) {
  while (length > 0 && is_space(text[length - 1])) --length;
  return length;
}

std::size_t leading_space(std::string_view text) {
  std::size_t at = 0;
  while (at < text.size() && is_space(text[at])) ++at;
  return at;
}

// The longest prefix of the reasoning that occurs in a text.
std::size_t max_in(std::string_view text, std::string_view reasoning) {
  std::size_t skipped = leading_space(reasoning);
  std::string_view rest = reasoning.substr(skipped);
  std::string_view anchor = rest.substr(0, kAnchor);
  if (anchor.size() < kAnchor) return 0;
  std::size_t longest = 0;
  for (std::size_t at = text.find(anchor); at != text.npos; at = text.find(anchor, at + 1)) {
    longest = std::max(longest, common_prefix(text.substr(at), rest));
  }
  return longest == 0 ? 0 : without_space(reasoning, skipped + longest);
}

// What follows the conversation's last turn in a text rendered from it by some template. nullopt
// if the text does not contain the conversation.
std::optional<std::string_view> behind(std::string_view rendered, const std::vector<Turn>& turns) {
  for (const Turn& turn : turns) {
    std::string_view text = trim(turn.text);  // many templates trim
    std::size_t at = rendered.find(text);
    if (at == rendered.npos) return std::nullopt;
    rendered.remove_prefix(at + text.size());
  }
  return rendered;
}

std::size_t cut_in_turns(const std::vector<Turn>& fork, const std::vector<Turn>& main,
                         std::string_view reasoning) {
  if (main.empty() || fork.size() < main.size()) return 0;
  const Turn& last = main.back();
  const Turn& there = fork[main.size() - 1];
  bool begins_alike = std::equal(main.begin(), main.end() - 1, fork.begin()) &&
                      there.role == last.role && there.text.starts_with(last.text);
  if (!begins_alike) return 0;
  std::size_t longest = max_in(std::string_view(there.text).substr(last.text.size()), reasoning);
  if (fork.size() == main.size()) return longest;
  // Reasoning before the last turn belongs to an earlier answer.
  return std::max({longest, max_in(fork.back().text, reasoning),
                   cut_of(fork.back().reasoning, reasoning).value_or(0)});
}

std::size_t cut_in_text(std::string_view fork, const PromptForm& main,
                        const RecordedAnswer& answer) {
  std::string_view prompt = !main.raw.empty() ? main.raw : std::string_view(answer.prompt_text);
  if (!prompt.empty() && fork.starts_with(prompt)) {
    return max_in(fork.substr(prompt.size()), answer.reasoning);
  }
  if (main.turns.empty()) return 0;
  auto rest = behind(fork, main.turns);
  return rest ? max_in(*rest, answer.reasoning) : 0;
}

std::size_t cut_in_tokens(const std::vector<std::int32_t>& fork, const RecordedAnswer& answer) {
  const std::vector<std::int32_t>& prompt = answer.prompt_ids;
  if (prompt.empty() || fork.size() <= prompt.size() ||
      !std::equal(prompt.begin(), prompt.end(), fork.begin())) {
    return 0;
  }
  std::span<const std::int32_t> rest = std::span(fork).subspan(prompt.size());
  auto same = static_cast<std::size_t>(std::ranges::mismatch(rest, answer.reasoning_ids).in1 -
                                       rest.begin());
  std::size_t cut = 0;
  for (const TokenEnd& end : answer.token_ends) {
    if (end.tokens_end <= same) cut = end.text_end;
  }
  return without_space(answer.reasoning, cut);
}

}  // namespace

AnswerTraits PromptForm::answer_traits() const {
  AnswerTraits traits;
  traits.choices = choices;
  traits.opener_in_prompt = trim(raw).ends_with("<think>");
  if (!turns.empty() && turns.back().role == "assistant") {
    traits.begun_reasoning = turns.back().reasoning;
    traits.begun_content = turns.back().text;
  }
  return traits;
}

std::optional<PromptForm> read_prompt(const RecordedRequest& request) {
  PromptForm form;
  form.path = path_of(request.target);
  bool writes = std::ranges::any_of(
      std::array<std::string_view, 3>{"/completions", "/completion", "/generate"},
      [&](std::string_view end) { return form.path.ends_with(end); });
  if (request.method != "POST" || !writes) return std::nullopt;
  auto body = parse_json(request.body);
  if (!body || !body->is_object()) return std::nullopt;
  form.stream = flag_at(*body, "stream");
  std::int64_t choices = std::max(int_at(*body, "n", 1), int_at(*body, "n_cmpl", 1));
  form.choices = static_cast<int>(std::clamp<std::int64_t>(choices, 1, ChunkReader::kMaxChoices));
  for (const char* name : {"prompt", "text", "input_ids"}) {
    if (const Json* prompt = member_at(*body, name)) read_raw(*prompt, form);
  }
  if (const Json* messages = member_at(*body, "messages")) form.turns = read_turns(*messages);
  if (form.turns.empty() && form.raw.empty() && form.token_ids.empty()) return std::nullopt;
  return form;
}

std::vector<Turn> turns_of(const std::vector<Message>& messages) {
  std::vector<Turn> turns;
  for (const Message& message : messages) {
    const char* role = message.speaker == Speaker::system ? "system"
                       : message.speaker == Speaker::user ? "user"
                                                          : "assistant";
    turns.push_back({role, {}, as_utf8(message.text)});
  }
  return turns;
}

bool same_prompt(const PromptForm& form, const std::vector<Turn>& turns) {
  if (!form.turns.empty()) return form.turns == turns;
  // A template adds only a few words after the last turn.
  constexpr std::size_t kMaxMarks = 200;
  auto rest = behind(form.raw, turns);
  return rest && rest->size() <= kMaxMarks;
}

std::optional<std::size_t> cut_of(std::string_view prefix, std::string_view reasoning) {
  // A strategy may have trimmed the white space that the server sent.
  std::size_t skipped = leading_space(reasoning);
  std::string_view trimmed = trim(prefix);
  if (!reasoning.substr(skipped).starts_with(trimmed)) return std::nullopt;
  return trimmed.empty() ? 0 : skipped + trimmed.size();
}

std::optional<std::size_t> find_cut(const PromptForm& fork, const PromptForm& main,
                                    const RecordedAnswer& answer) {
  std::size_t cut = 0;
  if (!fork.token_ids.empty()) {
    cut = cut_in_tokens(fork.token_ids, answer);
  } else if (!fork.turns.empty()) {
    cut = cut_in_turns(fork.turns, main.turns, answer.reasoning);
  } else {
    cut = cut_in_text(fork.raw, main, answer);
  }
  if (cut == 0) return std::nullopt;
  return cut;
}

}  // namespace specgen
