#include "generate/author/author_text.h"

#include <fmt/core.h>

#include <boost/json.hpp>
#include <optional>

#include "base/hash.h"
#include "base/json.h"
#include "base/text.h"
#include "generate/author/advice.h"
#include "generate/author/diff_text.h"
#include "generate/author/thinking.h"
#include "generate/prompt_context.h"

namespace specgen {
namespace {

// What a request says to the author.
struct Prompt {
  std::optional<PromptContext> context;
  std::string after;  // what was said after the context: notes of a trace, in a turn of their own
};

bool is_word(char c) {
  return is_letter(c) || c == '_' || (c >= '0' && c <= '9');
}

// For people who ask in prose: the first word that names a task of ours.
std::optional<PromptContext> guessed_context(std::string_view text) {
  auto mentions = [&](std::string_view word) { return text.contains(word); };
  bool cuda = mentions("cuda") || mentions("CUDA") || mentions("GPU");
  for (std::size_t at = 0; at < text.size();) {
    std::size_t end = at;
    while (end < text.size() && is_word(text[end])) ++end;
    std::string_view word = text.substr(at, end - at);
    for (std::string_view backend : {cuda ? "cuda" : "cpu", cuda ? "cpu" : "cuda"}) {
      if (!word.empty() && find_plan(word, backend)) {
        return PromptContext{.task = std::string(word), .backend = std::string(backend)};
      }
    }
    at = end + 1;
  }
  return std::nullopt;
}

Result<Prompt> read_prompt(const std::vector<Message>& messages) {
  Prompt prompt;
  std::string prose;
  for (const Message& message : messages) {
    if (auto found = TRY(find_prompt_context(message.text))) {
      prompt.context = std::move(found);
      prompt.after.clear();
    } else {
      prompt.after += message.text + "\n";
    }
    if (message.speaker != Speaker::assistant) prose += message.text + "\n";
  }
  if (!prompt.context) prompt.context = guessed_context(prose);
  return prompt;
}

std::uint64_t draw_for(const AuthorOptions& options, const PromptContext& context,
                       const Request& request, int choice) {
  TraceHash hash;
  hash.mix(options.seed);
  hash.mix(to_prompt_block(context));
  hash.mix(request.sampling.seed.value_or(0));
  hash.mix(static_cast<std::uint64_t>(choice));
  return hash.value();
}

// An answer of one block with prose around it, or what is left to say after `start`.
std::string in_fence(std::string_view before, std::string_view language, std::string_view body,
                     std::string_view start) {
  if (start.contains("```")) return fmt::format("{}```\n", body);
  return fmt::format("{}\n\n```{}\n{}```\n", before, language, body);
}

std::string in_words(const Decisions& made) {
  std::vector<std::string> parts;
  for (const auto& [name, value] : made) parts.push_back(fmt::format("{} = {}", name, value));
  return parts.empty() ? "every decision at its plainest" : join(parts, ", ");
}

std::string kernel_answer(const Assignment& assignment, std::string_view reasoning,
                          std::string_view start) {
  const PromptContext& context = assignment.context;
  WrittenKernel kernel = kernel_after(assignment, reasoning);
  if (answers_with_changes(context.role) && !trim(context.parent_source).empty()) {
    std::string blocks = search_replace_blocks(context.parent_source, kernel.source);
    if (!blocks.empty()) {
      return fmt::format("The change to the kernel, now with {}:\n\n{}", in_words(kernel.made),
                         blocks);
    }
  }
  return in_fence(fmt::format("The kernel for {} with {}:", context.task, in_words(kernel.made)),
                  fence_language(context.backend), kernel.source, start);
}

AuthorText without_plan(const PromptContext& context, const Request& request, bool thinks) {
  std::string regret = fmt::format(
      "I have no plan for {} on {}, and as I am no language model I cannot make one up.",
      context.task, context.backend);
  AuthorText text;
  if (thinks) text.reasoning = regret + "\n";
  const std::string& source =
      trim(context.parent_source).empty() ? context.baseline : context.parent_source;
  if (gives_advice(context.role)) {
    text.content =
        in_fence(regret, "json", pretty_json(Json{{"reasoning", regret}}), request.answer_start);
  } else if (trim(source).empty()) {
    text.content = regret + "\n";
  } else {
    std::string body = source.ends_with('\n') ? source : source + "\n";
    text.content = in_fence(regret + " This is the source that I was given, unchanged:",
                            fence_language(context.backend), body, request.answer_start);
  }
  return text;
}

AuthorText without_context(bool thinks) {
  AuthorText text;
  if (thinks)
    text.reasoning =
        "There is neither a specgen-context block nor the name of a task that I know.\n";
  text.content = fmt::format(
      "{}. It needs a prompt with a specgen-context block (docs/author.md), or at least the name "
      "of a "
      "task that it knows, such as softmax.\n",
      kAuthorIsNoModel);
  return text;
}

}  // namespace

Result<AuthorText> author_text(const AuthorOptions& options, const Request& request, int choice) {
  Prompt prompt = TRY(read_prompt(request.messages));
  bool thinks = request.mode == Mode::reason;
  if (!prompt.context) return without_context(thinks);
  const PromptContext& context = *prompt.context;
  const KernelPlan* plan = find_plan(context.task, context.backend);
  if (!plan) return without_plan(context, request, thinks);

  Assignment assignment{context, *plan, options.mistake_rate,
                        draw_for(options, context, request, choice)};
  std::string thought = request.prefix ? request.prefix->text : std::string();
  if (!request.prefix && !read_thought(*plan, prompt.after).made.empty()) {
    // The notes of a trace, quoted by a client that can continue it in no other way.
    thought = prompt.after;
    thinks = false;
  }
  AuthorText text;
  if (gives_advice(context.role)) {
    if (thinks && thought.empty()) text.reasoning = think_of_advice(assignment, options);
    text.content = in_fence("My reading of it:", "json", pretty_json(advice_for(assignment)),
                            request.answer_start);
    return text;
  }
  if (thinks) {
    // A trace that is continued where it was cut is the same trace, if it can be.
    std::string whole = think_of_kernel(assignment, options);
    text.reasoning = whole.starts_with(thought) ? whole.substr(thought.size())
                                                : think_of_kernel(assignment, options, thought);
  }
  text.content = kernel_answer(assignment, thought + text.reasoning, request.answer_start);
  return text;
}

}  // namespace specgen
