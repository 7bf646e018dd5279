#include "generate/openai/probe.h"

#include <fmt/core.h>

#include <algorithm>
#include <boost/json.hpp>
#include <charconv>

#include "base/json.h"
#include "base/text.h"
#include "generate/reasoning_trace.h"
#include "runtime/race.h"

namespace specgen {
namespace {

// A word that no model writes by itself: a fork that repeats it has read the given reasoning.
constexpr std::string_view kWord = "quince-4711";
constexpr std::size_t kCacheNumbers = 1200;  // enough for caches that start at a thousand tokens
constexpr int kDeltasBeforeCancel = 3;
constexpr auto kStopTimeout = std::chrono::seconds(5);

struct Received {
  std::string reasoning;
  std::string content;
  ReasoningTrace trace;
  std::optional<Ended> ended;
  std::optional<Error> error;
  int deltas = 0;
  Duration first_token{};
  Duration took{};
};

Task<Received> receive(Loop& loop, Model& model, Request request) {
  Received received;
  Time began = loop.now();
  auto generation = co_await model.start(std::move(request));
  if (!generation) received.error = std::move(generation.error());
  while (!received.error && !received.ended) {
    auto event = co_await (*generation)->next();
    if (!event) {
      received.error = std::move(event.error());
    } else if (auto* delta = std::get_if<Delta>(&*event)) {
      if (received.deltas++ == 0) received.first_token = loop.now() - began;
      (delta->kind == DeltaKind::reasoning ? received.reasoning : received.content) += delta->text;
      received.trace.add(*delta);
    } else if (auto* prompt = std::get_if<PromptTokens>(&*event)) {
      received.trace.add(*prompt);
    } else {
      received.ended = std::move(std::get<Ended>(*event));
    }
  }
  received.took = loop.now() - began;
  co_return received;
}

Request ask_for(std::string text, Mode mode, Duration limit) {
  Request request;
  request.messages = {{Speaker::user, std::move(text)}};
  request.mode = mode;
  request.max_tokens = mode == Mode::reason ? 1024 : 64;
  request.sampling.temperature = 0.0;
  request.purpose = "probe";
  request.affinity = "specgen-probe";
  request.idle_timeout = limit;
  request.total_timeout = 4 * limit;
  return request;
}

struct ListedModels {
  std::vector<std::string> names;
  std::string owner;  // what the server says it is
};

std::optional<ListedModels> listed_models(const HttpResponse& response) {
  auto json = parse_json(response.body);
  const Json* data = response.head.status == 200 && json ? member_at(*json, "data") : nullptr;
  if (!data || !data->is_array()) return std::nullopt;
  ListedModels listed;
  for (const Json& entry : data->get_array()) {
    listed.names.push_back(text_at(entry, "id"));
    if (listed.owner.empty()) listed.owner = text_at(entry, "owned_by");
  }
  return listed;
}

class Prober {
 public:
  Prober(Loop& loop, OpenAiModel& model, Duration limit)
      : loop_(loop), model_(model), limit_(limit) {}

  Task<ProbeReport> run() {
    bool reached = co_await find_server();
    if (!reached) co_return std::move(report_);
    bool streams = co_await try_stream();
    if (!streams) co_return std::move(report_);
    co_await try_forks();
    model_.use(report_.traits);
    co_await try_cancel();
    co_await try_cache();
    co_return std::move(report_);
  }

 private:
  void add(std::string id, std::string name, ProbeFinding finding, std::string detail,
           std::string advice = {}) {
    report_.steps.push_back(
        {std::move(id), std::move(name), finding, std::move(detail), std::move(advice)});
  }

  Task<bool> find_server() {
    auto models = co_await model_.get(model_.wire().url.api("/models"), limit_);
    if (!models) {
      add("reachable", "server", ProbeFinding::bad, model_.without_key(models.error().summary()),
          std::string(models.error().what_to_do()));
      co_return false;
    }
    int status = models->head.status;
    if (status == 401 || status == 403) {
      add("reachable", "server", ProbeFinding::bad,
          fmt::format("HTTP {}: the key was rejected", status), "check the key of this model");
      co_return false;
    }
    auto listed = listed_models(*models);
    if (!listed) {  // some servers have no list
      add("reachable", "server", ProbeFinding::limited,
          fmt::format("it answers, but has no list of models (HTTP {})", status),
          "check that /chat/completions can be appended to the URL, which usually ends in /v1");
      co_return true;
    }
    const std::vector<std::string>& names = listed->names;
    bool listed_here = std::ranges::find(names, model_.wire().model) != names.end();
    std::string detail = fmt::format("{} model{}", names.size(), names.size() == 1 ? "" : "s");
    if (!listed_here) {
      detail += fmt::format(", '{}' is not among them{}", model_.wire().model,
                            did_you_mean(model_.wire().model, names));
    }
    add("reachable", "server", listed_here ? ProbeFinding::good : ProbeFinding::limited, detail,
        listed_here ? "" : "use a name that the server lists");
    take_profile(listed->owner);
    co_return true;
  }

  // Believes a server that names itself, if the profile was not configured: what it can do is tested next.
  void take_profile(const std::string& owner) {
    auto likely = find_profile(owner);
    std::string_view mine = model_.wire().profile->name;
    if (!likely || (*likely)->name == mine || mine != "generic") {
      add("profile", "profile", ProbeFinding::good, std::string(mine));
    } else if (model_.take_profile(**likely)) {
      add("profile", "profile", ProbeFinding::good, owner + ", as the server says");
    } else {
      add("profile", "profile", ProbeFinding::limited,
          fmt::format("{}, but the server says it is {}", mine, owner),
          fmt::format("set profile = \"{}\" for this model in specgen.toml", owner));
    }
  }

  Task<bool> try_stream() {
    Received received =
        co_await receive(loop_, model_,
                         ask_for("What is 17 times 23? Think step by step, then say the number.",
                                 Mode::reason, limit_));
    if (received.error) {
      add("streams", "streaming", ProbeFinding::bad, model_.without_key(received.error->summary()),
          std::string(received.error->what_to_do()));
      co_return false;
    }
    report_.first_token = received.first_token;
    bool piecewise = received.deltas > 2;
    add("streams", "streaming", piecewise ? ProbeFinding::good : ProbeFinding::limited,
        fmt::format("{} pieces, the first after {}", received.deltas,
                    format_duration(received.first_token)),
        piecewise ? "" : "answers arrive in one piece: check for a buffering proxy");
    report_reasoning(received);
    const Usage& usage = received.ended->usage;
    add("usage", "usage", usage.estimated ? ProbeFinding::limited : ProbeFinding::good,
        usage.estimated
            ? "not reported: tokens are estimated from the text"
            : fmt::format("reported: {} + {} tokens", usage.prompt_tokens, usage.completion_tokens),
        usage.estimated ? "enable usage in streams on the server, if it can" : "");
    first_stream_ = std::move(received);
    co_return true;
  }

  void report_reasoning(const Received& received) {
    if (!received.reasoning.empty()) {
      bool ids = !received.trace.prefix(received.trace.text().size()).token_ids.empty();
      add("reasoning", "reasoning", ProbeFinding::good,
          fmt::format(
              "{}, about {} tokens{}",
              model_.reasoning_in_tags() ? "between tags in the content" : "in a separate field",
              estimate_tokens(received.reasoning), ids ? ", with token ids" : ""));
      return;
    }
    if (received.content.contains("</think>")) {  // its template opens the reasoning for the model
      report_.traits.opener = ThinkSplitter::Opener::in_prompt;
      add("reasoning", "reasoning", ProbeFinding::good, "within the content, up to </think>",
          "start the server with its reasoning parser to separate it");
      return;
    }
    add("reasoning", "reasoning", ProbeFinding::limited, "none is shown",
        "forks and harvest need the reasoning: use a model and server that stream it");
  }

  Task<void> try_forks() {
    std::vector<ForkStrategy> candidates = model_.wire().profile->forks;
    if (model_.fork_is_set()) candidates = model_.forks();
    std::optional<ForkStrategy>
        unsure;  // answers without reasoning, but perhaps ignores the prefix
    for (ForkStrategy strategy : candidates) {
      TriedFork tried{strategy, false, {}};
      Request request = fork_of(strategy);
      if (!can_fork(strategy, model_.wire(), request)) {
        tried.detail = "the server does not provide what it needs";
        report_.forks.push_back(std::move(tried));
        continue;
      }
      model_.use_only(strategy);
      Received received = co_await receive(loop_, model_, std::move(request));
      judge_fork(tried, received);
      report_.forks.push_back(tried);
      bool at_once = !received.error && received.reasoning.empty() && !received.content.empty();
      if (!tried.works && at_once && !unsure) unsure = strategy;
      if (!tried.works) continue;
      report_.traits.fork = strategy;
      add("fork", "forks", ProbeFinding::good,
          fmt::format("{}: {}", to_string(strategy), tried.detail));
      co_return;
    }
    report_.traits.fork = unsure;
    if (unsure) {
      add("fork", "forks", ProbeFinding::limited,
          fmt::format("{}: it answers at once, but perhaps not from the given reasoning",
                      to_string(*unsure)),
          "try a larger model, or another profile");
      co_return;
    }
    add("fork", "forks", ProbeFinding::bad, "no fork strategy works",
        "use another model or server; docs/guide/model-servers.md lists what each supports");
  }

  // The prefix contains the word; by token ids it must be the server's own reasoning, which does not.
  Request fork_of(ForkStrategy strategy) {
    bool by_ids = strategy == ForkStrategy::token_ids;
    std::string text = by_ids ? reasoning_question()
                              : "Choose a word of your own, then answer with that word alone.";
    Request request = ask_for(std::move(text), Mode::answer, limit_);
    request.prefix = ReasoningPrefix();
    if (by_ids) {
      request.prefix = first_stream_.trace.prefix(first_stream_.trace.text().size());
    } else {
      request.prefix->text = fmt::format("The user wants one word. I choose the word {}.\n", kWord);
    }
    return request;
  }
  static std::string reasoning_question() {
    return "What is 17 times 23? Think step by step, then say the number.";
  }

  void judge_fork(TriedFork& tried, const Received& received) {
    bool by_ids = tried.strategy == ForkStrategy::token_ids;
    if (received.error) {
      tried.detail = model_.without_key(received.error->summary());
    } else if (!received.reasoning.empty()) {
      tried.detail = "it reasons again";
      tried.works = tried.strategy == ForkStrategy::user_turn;  // the last resort
    } else if (received.content.empty()) {
      tried.detail = "the answer is empty";
    } else if (!by_ids && !received.content.contains(kWord)) {
      tried.detail = "it does not know the given reasoning";
    } else {
      tried.works = true;
      tried.detail = fmt::format("first token after {}", format_duration(received.first_token));
    }
  }

  Task<void> try_cancel() {
    Request request =
        ask_for("Write out the numbers from one to a thousand in words, one per line.",
                Mode::answer, limit_);
    request.max_tokens = 4096;
    bool began = false;
    {
      auto generation = co_await model_.start(std::move(request));
      for (int i = 0; generation && i < kDeltasBeforeCancel; ++i) {
        auto event = co_await (*generation)->next();
        if (!event || std::holds_alternative<Ended>(*event)) break;
        began = true;
      }
    }  // destroying the generation cancels it
    if (!began) {
      add("cancel", "cancel", ProbeFinding::bad, "there was no stream to cancel");
      co_return;
    }
    Time cancelled = loop_.now();
    if (auto stopped = co_await await_idle_server()) {
      add("cancel", "cancel", *stopped ? ProbeFinding::good : ProbeFinding::bad,
          *stopped
              ? fmt::format("the server stops within {}", format_duration(loop_.now() - cancelled))
              : fmt::format("still generating {} later", format_duration(kStopTimeout)),
          *stopped ? "" : "check for a proxy that keeps connections open");
      co_return;
    }
    Received after = co_await receive(loop_, model_, ask_for("Say: yes", Mode::answer, limit_));
    add("cancel", "cancel", after.error ? ProbeFinding::bad : ProbeFinding::unknown,
        after.error
            ? model_.without_key(after.error->summary())
            : fmt::format(
                  "connection closed, the next call answers after {}; it does not show whether the "
                  "server stops",
                  format_duration(after.first_token)));
  }

  // Whether the server reports that nothing runs any more; nullopt if it has no metrics.
  Task<std::optional<bool>> await_idle_server() {
    std::string_view gauge = model_.wire().profile->running_gauge;
    if (gauge.empty()) co_return std::nullopt;
    Time deadline = loop_.now() + kStopTimeout;
    while (true) {
      auto metrics = co_await model_.get(model_.wire().url.native("/metrics"), limit_);
      if (!metrics || metrics->head.status != 200) co_return std::nullopt;
      std::optional<double> running = gauge_of(metrics->body, gauge);
      if (!running) co_return std::nullopt;
      if (*running < 0.5) co_return true;
      if (loop_.now() >= deadline) co_return false;
      co_await loop_.sleep(std::chrono::milliseconds(200));
    }
  }

  // The sum over all label sets: "name{...} 3".
  static std::optional<double> gauge_of(std::string_view metrics, std::string_view name) {
    std::optional<double> sum;
    for (std::string_view line : split(metrics, '\n')) {
      if (!line.starts_with(name)) continue;
      char after = line.size() > name.size() ? line[name.size()] : ' ';
      if (after != '{' && after != ' ') continue;
      std::string_view value = trim(line.substr(line.rfind(' ') + 1));
      double number = 0;
      if (std::from_chars(value.data(), value.data() + value.size(), number).ec == std::errc()) {
        sum = sum.value_or(0) + number;
      }
    }
    return sum;
  }

  Task<void> try_cache() {
    std::string text = "Read these numbers, then say: yes.\n";
    for (std::size_t i = 0; i < kCacheNumbers; ++i) text += fmt::format("{} ", i * 37 % 1000);
    Received last;
    for (int i = 0; i < 2; ++i) {
      last = co_await receive(loop_, model_, ask_for(text, Mode::answer, limit_));
      if (last.error) break;
    }
    if (last.error) {
      add("cache", "prefix cache", ProbeFinding::unknown,
          model_.without_key(last.error->summary()));
      co_return;
    }
    const Usage& usage = last.ended->usage;
    if (!usage.cached_known) {
      add("cache", "prefix cache", ProbeFinding::unknown,
          "the server does not report cached tokens",
          "vLLM: --enable-prompt-tokens-details; SGLang: --enable-cache-report");
      co_return;
    }
    bool hit = usage.cached_tokens * 2 > usage.prompt_tokens;
    add("cache", "prefix cache", hit ? ProbeFinding::good : ProbeFinding::limited,
        fmt::format("{} of {} tokens of a repeated prompt", usage.cached_tokens,
                    usage.prompt_tokens),
        hit ? "" : "enable the server's prefix cache: forks repeat long prompts");
  }

  Loop& loop_;
  OpenAiModel& model_;
  Duration limit_;
  ProbeReport report_;
  Received first_stream_;
};

}  // namespace

bool ProbeReport::usable() const {
  bool streams = std::ranges::any_of(steps, [](const ProbeStep& step) {
    return step.id == "streams" && step.finding != ProbeFinding::bad;
  });
  return streams && traits.fork.has_value();
}

Task<void> identify_server(OpenAiModel& model, Duration limit) {
  auto models = co_await model.get(model.wire().url.api("/models"), limit);
  auto listed = models ? listed_models(*models) : std::nullopt;
  auto likely = find_profile(listed ? listed->owner : std::string());
  if (likely) model.take_profile(**likely);
}

Task<ProbeReport> probe(Loop& loop, OpenAiModel& model, Duration limit_per_call) {
  Prober prober(loop, model, limit_per_call);
  co_return co_await prober.run();
}

}  // namespace specgen
