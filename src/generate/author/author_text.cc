#include "generate/author/author_text.h"

#include <fmt/core.h>

#include <boost/json.hpp>
#include <optional>

#include "base/hash.h"
#include "base/json.h"
#include "base/text.h"
#include "generate/author/advice.h"
#include "generate/author/diff_text.h"
#include "generate/author/reasoning.h"
#include "generate/prompt_context.h"

namespace specgen {
namespace {

struct Prompt {
  std::optional<PromptContext> context;
  std::string after;  // text after the context: perhaps reasoning, quoted in a separate turn
};

bool is_word(char c) {
  return is_letter(c) || c == '_' || (c >= '0' && c <= '9');
}

// For prompts in prose: the first word that names a task with a plan.
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

// An answer with one fenced block, or the rest of it if the answer begins with `start`.
std::string in_fence(std::string_view before, std::string_view language, std::string_view body,
                     std::string_view start) {
  if (start.contains("```")) return fmt::format("{}```\n", body);
  return fmt::format("{}\n\n```{}\n{}```\n", before, language, body);
}

std::string as_text(const Decisions& made) {
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
      return fmt::format("The change to the kernel, now with {}:\n\n{}", as_text(kernel.made),
                         blocks);
    }
  }
  return in_fence(fmt::format("The kernel for {} with {}:", context.task, as_text(kernel.made)),
                  fence_language(context.backend), kernel.source, start);
}

AuthorText without_plan(const PromptContext& context, const Request& request, bool reasons) {
  std::string excuse = fmt::format(
      "I have no plan for {} on {}, and I am not a language model that could write one.",
      context.task, context.backend);
  AuthorText text;
  if (reasons) text.reasoning = excuse + "\n";
  const std::string& source =
      trim(context.parent_source).empty() ? context.baseline : context.parent_source;
  if (gives_advice(context.role)) {
    text.content =
        in_fence(excuse, "json", pretty_json(Json{{"reasoning", excuse}}), request.answer_start);
  } else if (trim(source).empty()) {
    text.content = excuse + "\n";
  } else {
    std::string body = source.ends_with('\n') ? source : source + "\n";
    text.content =
        in_fence(excuse + " This is the given source, unchanged:", fence_language(context.backend),
                 body, request.answer_start);
  }
  return text;
}

AuthorText without_context(bool reasons) {
  AuthorText text;
  if (reasons) {
    text.reasoning =
        "There is neither a specgen-context block nor the name of a task that I know.\n";
  }
  text.content = fmt::format(
      "{}. It needs a prompt with a specgen-context block (docs/reference/author.md), or at least "
      "the name of a task that it knows, such as softmax.\n",
      kAuthorIsNoModel);
  return text;
}

}  // namespace

Result<AuthorText> author_text(const AuthorOptions& options, const Request& request, int choice) {
  Prompt prompt = TRY(read_prompt(request.messages));
  bool reasons = request.mode == Mode::reason;
  if (!prompt.context) return without_context(reasons);
  const PromptContext& context = *prompt.context;
  const KernelPlan* plan = find_plan(context.task, context.backend);
  if (!plan) return without_plan(context, request, reasons);

  Assignment assignment{context, *plan, options.mistake_rate,
                        draw_for(options, context, request, choice)};
  std::string so_far = request.prefix ? request.prefix->text : std::string();
  if (!request.prefix && !read_conclusions(*plan, prompt.after).made.empty()) {
    // Reasoning that is quoted in a turn, by a client that cannot continue it in another way.
    so_far = prompt.after;
    reasons = false;
  }
  AuthorText text;
  if (gives_advice(context.role)) {
    if (reasons && so_far.empty()) text.reasoning = reason_about_advice(assignment, options);
    text.content = in_fence("My reading of it:", "json", pretty_json(advice_for(assignment)),
                            request.answer_start);
    return text;
  }
  if (reasons) {
    // A prefix of the full trace continues with the rest of it.
    std::string full = reason_about_kernel(assignment, options);
    text.reasoning = full.starts_with(so_far) ? full.substr(so_far.size())
                                              : reason_about_kernel(assignment, options, so_far);
  }
  text.content = kernel_answer(assignment, so_far + text.reasoning, request.answer_start);
  return text;
}

Result<void> check_has_plan(const Request& request) {
  Prompt prompt = TRY(read_prompt(request.messages));
  if (!prompt.context || find_plan(prompt.context->task, prompt.context->backend)) return {};
  return fail(ErrorCode::unknown_name,
              fmt::format("the built-in author has no plan for task '{}' on backend '{}': use a "
                          "language model",
                          prompt.context->task, prompt.context->backend),
              "use a language model, such as --model openai:NAME@URL");
}

}  // namespace specgen
