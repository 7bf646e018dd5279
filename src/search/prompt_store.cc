#include "search/prompt_store.h"

#include <fmt/core.h>

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "base/assert.h"
#include "base/file.h"
#include "base/text.h"
#include "base/text_diff.h"
#include "generate/prompt_context.h"

namespace specgen {
namespace {

namespace fs = std::filesystem;

constexpr Bytes kLargestFile = KiB(256);
constexpr std::size_t kMaxFeedback = 4096;  // bytes, of one kernel
constexpr std::size_t kMaxProfile = 8192;
constexpr std::size_t kMaxText = kMaxPrompt / 4;  // any other
constexpr std::size_t kShortest = 512;            // what is shorter is not cut any more
constexpr std::string_view kLeftOut = "bytes left out ...]";
constexpr std::string_view kUserLine = "[user]";
constexpr std::string_view kBeforeContext =
    "The block below repeats this for programs. It is no part of the question.";

const std::vector<std::string> kPrompts{"refine",
                                        "refine_start",
                                        "refine_repair",
                                        "mend",
                                        "cudaforge_seed",
                                        "cudaforge_judge_repair",
                                        "cudaforge_repair",
                                        "cudaforge_judge_optimise",
                                        "cudaforge_optimise",
                                        "alphaevolve_start",
                                        "alphaevolve_diff",
                                        "alphaevolve_rewrite",
                                        "kernelagent_seed",
                                        "kernelagent_refine",
                                        "kernelagent_bottleneck",
                                        "kernelagent_optimise",
                                        "kernelagent_reflexion"};

const PromptNames& known_names() {
  static const PromptNames names{
      .texts = {"task",           "backend",         "cpu",
                "cuda",           "model_new",       "pytorch",
                "description",    "signature",       "hardware",
                "baseline",       "baseline_fence",  "fence",
                "parent",         "parent_feedback", "parent_profile",
                "parent_verdict", "parent_speedup",  "advice",
                "reflexions",     "left_out",        "has_good",
                "has_failed",     "has_attempts",    "has_top",
                "has_diverse",    "has_inspirations"},
      .lists = {"good", "failed", "attempts", "top", "diverse", "inspirations"},
      .in_lists = {"number", "source", "listing", "verdict", "speedup", "feedback"}};
  return names;
}

// Its beginning and its end, on the borders of lines where there are any.
std::string shortened(std::string_view text, std::size_t most) {
  if (text.size() <= most) return std::string(text);
  std::size_t head = most * 2 / 3;
  std::size_t tail = text.size() - (most - head);
  if (std::size_t line = text.rfind('\n', head);
      line != std::string_view::npos && line > head / 2) {
    head = line + 1;
  }
  if (std::size_t line = text.find('\n', tail); line < tail + (text.size() - tail) / 2) {
    tail = line + 1;
  }
  return as_utf8(fmt::format("{}\n[... {} {}\n{}", text.substr(0, head), tail - head, kLeftOut,
                             text.substr(tail)));
}

std::string speedup_text(const KnownKernel& kernel) {
  return is_confirmed(kernel) ? fmt::format("{:.3g}", kernel.speedup.median) : "";
}

// The content of a prompt, which is shortened until it fits.
struct Draft {
  std::vector<KernelList> lists;
  std::optional<KnownKernel> parent;
  std::string baseline;
  std::string advice;
  std::string reflexions;
  int sources_left_out = 0;
  int kernels_left_out = 0;
  bool cut = false;
};

void cut_long_texts(KnownKernel& kernel) {
  kernel.source = shortened(kernel.source, kMaxText);
  kernel.feedback = shortened(kernel.feedback, kMaxFeedback);
  kernel.profile = shortened(kernel.profile == "null" ? "" : kernel.profile, kMaxProfile);
}

Draft draft_of(const TaskBrief& brief, const PromptRequest& request) {
  Draft draft{.lists = request.lists,
              .parent = {},
              .baseline = shortened(brief.baseline, kMaxText),
              .advice = shortened(request.advice, kMaxText),
              .reflexions = shortened(request.reflexions, kMaxText)};
  if (request.parent) {
    draft.parent = *request.parent;
    cut_long_texts(*draft.parent);
  }
  for (KernelList& list : draft.lists) {
    for (KnownKernel& kernel : list.kernels) {
      cut_long_texts(kernel);
      if (!list.with_source) kernel.source.clear();
    }
  }
  return draft;
}

template <class Wanted>
std::optional<CandidateId> oldest(const Draft& draft, Wanted wanted) {
  std::optional<CandidateId> found;
  for (const KernelList& list : draft.lists) {
    for (const KnownKernel& kernel : list.kernels) {
      if (wanted(kernel) && (!found || kernel.id < *found)) found = kernel.id;
    }
  }
  return found;
}

// These return how many bytes that saves at most, in prose and context together; 0 if there is nothing left to leave
// out.
std::size_t halve_longest_text(Draft& draft) {
  std::vector<std::string*> texts{&draft.baseline, &draft.advice, &draft.reflexions};
  if (draft.parent) {
    texts.insert(texts.end(),
                 {&draft.parent->source, &draft.parent->feedback, &draft.parent->profile});
  }
  std::string& longest =
      **std::ranges::max_element(texts, {}, [](const std::string* text) { return text->size(); });
  std::size_t before = longest.size();
  if (before < kShortest) return 0;
  longest = shortened(longest, before / 2);
  draft.cut = true;
  return before > longest.size() ? 3 * (before - longest.size()) : 1;
}

std::size_t leave_out_source(Draft& draft, CandidateId id) {
  std::size_t in_lists = 0;
  std::size_t size = 0;
  for (KernelList& list : draft.lists) {
    for (KnownKernel& kernel : list.kernels) {
      if (kernel.id != id) continue;
      size = std::max(size, kernel.source.size());
      in_lists += std::exchange(kernel.source, {}).size();
    }
  }
  ++draft.sources_left_out;
  return in_lists + size;
}

std::size_t leave_out_kernel(Draft& draft, CandidateId id) {
  constexpr std::size_t kAround = 100;  // headings, keys
  std::size_t saved = kAround;
  for (KernelList& list : draft.lists) {
    for (const KnownKernel& kernel : list.kernels) {
      if (kernel.id == id) saved += 2 * kernel.feedback.size() + kAround;
    }
    std::erase_if(list.kernels, [&](const KnownKernel& kernel) { return kernel.id == id; });
  }
  ++draft.kernels_left_out;
  return saved;
}

std::size_t shorten(Draft& draft) {
  auto has_source = [](const KnownKernel& kernel) { return !kernel.source.empty(); };
  if (auto id = oldest(draft, has_source)) return leave_out_source(draft, *id);
  auto any = [](const KnownKernel&) { return true; };
  if (auto id = oldest(draft, any)) return leave_out_kernel(draft, *id);
  return halve_longest_text(draft);
}

// False if it cannot become shorter.
bool shorten_by(Draft& draft, std::size_t bytes) {
  std::size_t saved = 0;
  while (saved < bytes) {
    std::size_t more = shorten(draft);
    if (more == 0) return saved > 0;
    saved += more;
  }
  return true;
}

std::string left_out_text(const Draft& draft) {
  std::string text;
  int without_source = draft.sources_left_out - draft.kernels_left_out;
  if (without_source > 0) {
    text += fmt::format("the sources of {} older kernels are left out; ", without_source);
  }
  if (draft.kernels_left_out > 0) {
    text += fmt::format("{} older kernels are left out; ", draft.kernels_left_out);
  }
  if (draft.cut) text += "the longest texts are cut; ";
  if (text.empty()) return text;
  return "To keep this short, " + text.substr(0, text.size() - 2) + ".";
}

// A text in a fence of its own, or on lines of its own.
std::string without_last_line_end(std::string_view text) {
  while (text.ends_with('\n')) text.remove_suffix(1);
  return std::string(text);
}

// A kernel as a fenced block of its own. Most differ little from the one in question, which the prompt has whole: then
// only the difference is shown, at less than half the length.
std::string listing_of(const std::string& source, std::string_view fence,
                       const std::string& parent) {
  if (source.empty()) return "";
  const bool is_whole = !source.contains(kLeftOut) && !parent.contains(kLeftOut);
  if (!parent.empty() && is_whole) {
    std::string change = change_text(parent, source);
    if (change.empty()) return "The same as the current kernel.";
    if (2 * change.size() < source.size()) {
      return fmt::format("The current kernel with this change:\n\n```diff\n{}```", change);
    }
  }
  return fmt::format("```{}\n{}\n```", fence, without_last_line_end(source));
}

PromptTexts item_of(const KnownKernel& kernel, std::size_t number, std::string_view fence,
                    const std::string& parent) {
  return {{"number", fmt::format("{}", number)},
          {"source", without_last_line_end(kernel.source)},
          {"listing", listing_of(kernel.source, fence, parent)},
          {"verdict", std::string(to_string(kernel.verdict))},
          {"speedup", speedup_text(kernel)},
          {"feedback", kernel.feedback}};
}

std::string flag(bool value) {
  return value ? "yes" : "";
}

PromptValues values_of(const TaskBrief& brief, const Draft& draft) {
  bool cuda = brief.backend == "cuda";
  PromptValues values;
  values.texts = {{"task", brief.title},
                  {"backend", brief.backend},
                  {"cpu", flag(!cuda && !brief.model_new)},
                  {"cuda", flag(cuda && !brief.model_new)},
                  {"model_new", flag(brief.model_new)},
                  {"pytorch", flag(brief.is_pytorch)},
                  {"description", brief.description},
                  {"signature", without_last_line_end(brief.signature)},
                  {"hardware", brief.hardware},
                  {"baseline", without_last_line_end(draft.baseline)},
                  {"baseline_fence", brief.is_pytorch ? "python"
                                     : cuda           ? "cuda"
                                                      : "cpp"},
                  {"fence", brief.model_new ? "python"
                            : cuda          ? "cuda"
                                            : "cpp"},
                  {"advice", draft.advice},
                  {"reflexions", draft.reflexions},
                  {"left_out", left_out_text(draft)}};
  if (draft.parent) {
    values.texts["parent"] = without_last_line_end(draft.parent->source);
    values.texts["parent_feedback"] = draft.parent->feedback;
    values.texts["parent_profile"] = draft.parent->profile;
    values.texts["parent_verdict"] = to_string(draft.parent->verdict);
    values.texts["parent_speedup"] = speedup_text(*draft.parent);
  }
  for (const KernelList& list : draft.lists) {
    SG_ASSERT(std::ranges::count(known_names().lists, list.name) == 1, "a list has a known name");
    std::vector<PromptTexts>& items = values.lists[list.name];
    for (const KnownKernel& kernel : list.kernels) {
      items.push_back(item_of(kernel, items.size() + 1, values.texts["fence"],
                              draft.parent ? draft.parent->source : std::string()));
    }
    values.texts["has_" + list.name] = flag(!items.empty());
  }
  return values;
}

// The same kernels as in the prose, each once.
std::vector<PromptFeedback> feedback_of(const Draft& draft) {
  std::map<CandidateId, const KnownKernel*> kernels;
  for (const KernelList& list : draft.lists) {
    for (const KnownKernel& kernel : list.kernels) {
      const KnownKernel*& known = kernels[kernel.id];
      if (!known || known->source.empty()) known = &kernel;
    }
  }
  if (draft.parent) kernels[draft.parent->id] = &*draft.parent;
  std::vector<PromptFeedback> feedback;
  for (const auto& [_, kernel] : kernels) {
    feedback.push_back({.source = kernel->source,
                        .verdict = std::string(to_string(kernel->verdict)),
                        .speedup = is_confirmed(*kernel) ? kernel->speedup.median : 0,
                        .evidence = kernel->feedback});
  }
  return feedback;
}

PromptContext context_of(const TaskBrief& brief, const PromptRequest& request, const Draft& draft) {
  return {.role = request.role,
          .task = brief.title,
          .backend = brief.backend,
          .baseline = draft.baseline,
          .parent_source = draft.parent ? draft.parent->source : "",
          .feedback = feedback_of(draft),
          .advice = draft.advice,
          .iteration = request.iteration,
          .seed = request.seed};
}

// Text above and below the line [user]. What is below keeps its line numbers.
struct TwoMessages {
  PromptFile system;
  PromptFile user;
};
TwoMessages split_messages(const PromptFile& file) {
  std::size_t lines = 0;
  for (std::string_view rest = file.text; !rest.empty(); ++lines) {
    std::size_t end = std::min(rest.find('\n'), rest.size() - 1) + 1;
    if (trim(rest.substr(0, end)) == kUserLine) {
      std::size_t at = file.text.size() - rest.size();
      return {.system = {file.path, file.text.substr(0, at)},
              .user = {file.path, std::string(lines + 1, '\n') + std::string(rest.substr(end))}};
    }
    rest.remove_prefix(end);
  }
  return {.system = {file.path, ""}, .user = file};
}

Result<PromptFile> find_file(const std::vector<fs::path>& folders, std::string_view name) {
  for (const fs::path& folder : folders) {
    fs::path path = folder / (std::string(name) + ".md");
    std::error_code trouble;
    if (!fs::exists(path, trouble)) continue;
    return PromptFile{path.string(), TRY(read_file(path, kLargestFile))};
  }
  return fail(ErrorCode::bad_prompt, fmt::format("there is no file {}.md", name),
              "the prompts that ship lie beside tasks/; the archive or the source tree has them");
}

// A file of the user's that nothing asks for, but nearly: its name is mistyped.
Result<void> check_names(const std::vector<fs::path>& folders, const std::set<std::string>& used) {
  std::vector<std::string> known(used.begin(), used.end());
  for (std::size_t i = 0; i + 1 < folders.size(); ++i) {
    std::error_code trouble;
    for (const auto& entry : fs::directory_iterator(folders[i], trouble)) {
      std::string stem = entry.path().stem().string();
      if (entry.path().extension() != ".md" || used.contains(stem)) continue;
      if (auto near = nearest(stem, known)) {
        return fail(ErrorCode::bad_prompt,
                    fmt::format("{}: there is no prompt of that name; did you mean {}.md?",
                                entry.path().string(), *near));
      }
    }
  }
  return {};
}

std::size_t length_of(const Prompt& prompt) {
  std::size_t length = 0;
  for (const Message& message : prompt.messages) length += message.text.size();
  return length;
}

}  // namespace

const std::vector<std::string>& PromptStore::names() {
  return kPrompts;
}

Result<PromptStore> PromptStore::load(const std::vector<fs::path>& folders) {
  PromptStore prompts;
  std::set<std::string> used;
  FindPart find = [&](std::string_view name) {
    used.emplace(name);
    return find_file(folders, name);
  };
  for (const std::string& name : kPrompts) {
    TwoMessages texts = split_messages(TRY(find(name)));
    prompts.templates_.emplace(
        name, Pair{.system = TRY(PromptTemplate::parse(texts.system, known_names(), find)),
                   .user = TRY(PromptTemplate::parse(texts.user, known_names(), find))});
  }
  TRY(check_names(folders, used));
  return prompts;
}

Prompt PromptStore::make(std::string_view name, const TaskBrief& brief,
                         const PromptRequest& request) const {
  auto found = templates_.find(name);
  SG_ASSERT(found != templates_.end(), "every prompt that is asked for was loaded");
  Draft draft = draft_of(brief, request);
  while (true) {
    PromptValues values = values_of(brief, draft);
    Prompt prompt{.messages = {},
                  .context = context_of(brief, request, draft),
                  .parent = request.parent ? request.parent->id : CandidateId{}};
    std::string system = found->second.system.render(values);
    if (!trim(system).empty()) {
      prompt.messages.push_back({Speaker::system, std::string(trim(system))});
    }
    std::string user = found->second.user.render(values);
    prompt.messages.push_back(
        {Speaker::user, fmt::format("{}\n\n{}\n\n{}", trim(user), kBeforeContext,
                                    to_prompt_block(prompt.context))});
    std::size_t length = length_of(prompt);
    if (length <= kMaxPrompt || !shorten_by(draft, length - kMaxPrompt)) return prompt;
  }
}

}  // namespace specgen
