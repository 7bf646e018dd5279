#include "cli/commands/commands.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <boost/json.hpp>

#include "base/file.h"
#include "base/json.h"
#include "base/text.h"
#include "cli/options.h"
#include "cli/shipped_files.h"
#include "cli/terminal.h"
#include "generate/cassette/cassette_format.h"
#include "generate/cassette/prompt_form.h"
#include "generate/reasoning_trace.h"
#include "speculate/gate.h"
#include "speculate/harvest.h"
#include "speculate/triggers.h"

namespace specgen {
namespace fs = std::filesystem;
namespace {

constexpr Bytes kLargestTrace = MiB(4);  // every cut scans all of it again
constexpr std::size_t kDelta = 16;       // bytes at a time, about as a model sends them
constexpr std::size_t kSnippet = 56;
constexpr std::string_view kAnyBackend = "auto";

struct TriggersOptions {
  std::string file;                  // a text, a cassette, or - for standard input
  std::string model;                 // whose patterns; empty: as the cassette says, else any
  std::string backend{kAnyBackend};  // or "cpu", "cuda"
  std::string set;                   // a file instead of those that ship
  bool json = false;
};

// The reasoning of one generation.
struct Trace {
  std::string name;
  std::string model;
  std::string reasoning;
};

struct Seen {
  Trigger trigger;
  std::size_t cut = 0;
  std::optional<Refusal> refusal;  // of a gate with the default settings, all devices idle
};

struct Followed {
  const Trace* trace = nullptr;
  std::unique_ptr<Triggers> triggers;
  std::int64_t tokens = 0;
  std::vector<Seen> seen;
  std::string backend;                   // what was harvested for
  std::vector<HarvestedKernel> harvest;  // distinct drafts
  std::uint64_t repeated = 0;            // drafts near-equal to an earlier one
};

Result<std::vector<Trace>> traces_of_cassette(std::string_view bytes, const std::string& name) {
  std::vector<Trace> traces;
  Cassette cassette = TRY(parse_cassette(bytes, name));
  for (const RecordedExchange& exchange : cassette.exchanges) {
    auto prompt = read_prompt(exchange.request);
    if (!prompt) continue;
    RecordedAnswer answer = read_answer(exchange, prompt->answer_traits());
    if (answer.reasoning.empty()) continue;
    auto body = parse_json(exchange.request.body);
    traces.push_back({fmt::format("exchange {}", exchange.number),
                      body ? text_at(*body, "model") : std::string(), answer.reasoning});
  }
  if (traces.empty()) {
    return fail(ErrorCode::bad_usage, fmt::format("{}: there is no reasoning in it", name),
                "record a conversation with a reasoning model");
  }
  return traces;
}

Result<std::vector<Trace>> read_traces(const TriggersOptions& options) {
  bool is_input = options.file == "-";
  const std::string name = is_input ? "standard input" : options.file;
  std::string bytes = TRY(read_file(is_input ? "/dev/stdin" : options.file, kMaxCassetteSize));
  std::vector<Trace> traces{{name, "", bytes}};
  if (bytes.starts_with("{\"crc\":")) traces = TRY(traces_of_cassette(bytes, name));
  for (const Trace& trace : traces) {
    if (trace.reasoning.size() <= kLargestTrace.count) continue;
    return fail(ErrorCode::file_too_large, fmt::format("{} has more than {} of reasoning",
                                                       trace.name, format_bytes(kLargestTrace)));
  }
  return traces;
}

Result<TriggerSet> choose_set(const TriggersOptions& options, const Trace& trace) {
  std::vector<fs::path> folders;
  if (fs::path shipped = shipped_folder("triggers"); !shipped.empty()) folders.push_back(shipped);
  if (!options.set.empty()) return read_trigger_set(options.set, folders);
  if (folders.empty()) {
    return fail(ErrorCode::file_not_found, "triggers", "name a set: --triggers SET.toml");
  }
  return find_trigger_set(folders, options.model.empty() ? trace.model : options.model);
}

// As an iteration would, given the trace alone.
Result<Followed> follow(const Trace& trace, const TriggersOptions& options, std::string backend) {
  Followed followed;
  followed.trace = &trace;
  followed.backend = std::move(backend);
  followed.triggers = TRY(Triggers::compile(TRY(choose_set(options, trace))));
  TriggerScanner scanner(*followed.triggers);
  Harvester harvester(followed.backend, Harvester::Foreign::take);
  Gate gate{GateSettings{}};
  ReasoningTrace so_far;
  std::vector<Trigger> fired;
  std::size_t last_bytes = 0;
  int forks = 0;
  for (std::size_t at = 0; at < trace.reasoning.size(); at += kDelta) {
    std::string delta = trace.reasoning.substr(at, kDelta);
    so_far.add(Delta{.kind = DeltaKind::reasoning, .text = delta, .token_ids = {}});
    std::size_t kernels = followed.harvest.size() + harvester.repeated();
    harvester.feed(delta, followed.harvest);
    if (followed.harvest.size() + harvester.repeated() > kernels) {
      gate.harvested(so_far.tokens());
      last_bytes = so_far.text().size();
    }
    fired.clear();
    scanner.feed(delta, fired);
    for (const Trigger& trigger : fired) {
      GateView view{.tokens = so_far.tokens(),
                    .new_bytes = so_far.text().size() - last_bytes,
                    .forks_this_iteration = forks};
      Seen seen{trigger, so_far.safe_cut(trigger.offset), gate.ask(trigger, view)};
      if (!seen.refusal) {
        gate.forked(view.tokens);
        last_bytes = so_far.text().size();
        ++forks;
      }
      followed.seen.push_back(seen);
    }
  }
  harvester.finish(followed.harvest);
  followed.repeated = harvester.repeated();
  followed.tokens = so_far.tokens();
  return followed;
}

// For the backend that is asked for, or the one that the trace has more drafts for.
Result<Followed> follow(const Trace& trace, const TriggersOptions& options) {
  if (options.backend != kAnyBackend) return follow(trace, options, options.backend);
  Followed cuda = TRY(follow(trace, options, "cuda"));
  Followed cpu = TRY(follow(trace, options, "cpu"));
  return std::move(cpu.harvest.size() > cuda.harvest.size() ? cpu : cuda);
}

std::string_view name_of(const Trigger& trigger) {
  return trigger.pattern ? std::string_view(trigger.pattern->name) : "interval";
}
std::string_view answer_of(const Seen& seen) {
  return seen.refusal ? to_string(*seen.refusal) : "fork";
}

std::int64_t line_of(std::string_view text, std::size_t offset) {
  return 1 + std::ranges::count(text.substr(0, offset), '\n');
}

// The text before a place, on one line.
std::string snippet(std::string_view text, std::size_t offset) {
  std::string_view before = trim(text.substr(0, offset));
  if (before.size() > kSnippet) before.remove_prefix(before.size() - kSnippet);
  while (!before.empty() && character_length(before) == 0) before.remove_prefix(1);
  std::string line(before);
  std::ranges::replace(line, '\n', ' ');
  return line;
}

// "1 draft", "14 drafts"
std::string counted(std::size_t count, std::string_view what) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

std::string text_of(const Followed& followed) {
  const std::string& reasoning = followed.trace->reasoning;
  const TriggerSet& set = followed.triggers->set();
  std::string text = fmt::format(
      "{}: {} bytes, about {} tokens; triggers {} ({} patterns, {}, {} bytes a stream)\n",
      followed.trace->name, reasoning.size(), followed.tokens, set.family, set.patterns.size(),
      "re2", Triggers::state_bytes());
  text += fmt::format("\n  {:>6} {:>8}  {:<16} {:<15} {:>6}  {:<15} {}\n", "line", "cut", "trigger",
                      "category", "weight", "gate", "before the cut");
  for (const Seen& seen : followed.seen) {
    text += fmt::format("  {:>6} {:>8}  {:<16} {:<15} {:>6.2f}  {:<15} …{}\n",
                        line_of(reasoning, seen.cut), seen.cut, name_of(seen.trigger),
                        to_string(seen.trigger.category), seen.trigger.weight, answer_of(seen),
                        snippet(reasoning, seen.cut));
  }
  text += fmt::format("\n  {}; harvest for {}: {}, {} distinct\n",
                      counted(followed.seen.size(), "trigger"), followed.backend,
                      counted(followed.harvest.size() + followed.repeated, "draft"),
                      followed.harvest.size());
  for (const HarvestedKernel& kernel : followed.harvest) {
    text += fmt::format("  {:>6} {:>8}  {:<16} {:<15} {:>6}  lines {}-{}\n", "", kernel.end,
                        to_string(kernel.kind), kernel.fenced ? "fenced" : "bare",
                        format_bytes({kernel.source.size()}), line_of(reasoning, kernel.begin),
                        line_of(reasoning, kernel.end) - 1);
  }
  return text;
}

Json json_of(const Followed& followed) {
  const std::string& reasoning = followed.trace->reasoning;
  const TriggerSet& set = followed.triggers->set();
  boost::json::array seen, harvest;
  for (const Seen& each : followed.seen) {
    seen.push_back({{"name", name_of(each.trigger)},
                    {"category", to_string(each.trigger.category)},
                    {"weight", each.trigger.weight},
                    {"line", line_of(reasoning, each.cut)},
                    {"offset", each.trigger.offset},
                    {"cut", each.cut},
                    {"gate", answer_of(each)},
                    {"snippet", snippet(reasoning, each.cut)}});
  }
  for (const HarvestedKernel& kernel : followed.harvest) {
    harvest.push_back({{"kind", to_string(kernel.kind)},
                       {"fenced", kernel.fenced},
                       {"line", line_of(reasoning, kernel.begin)},
                       {"begin", kernel.begin},
                       {"end", kernel.end},
                       {"source", kernel.source}});
  }
  return {{"name", followed.trace->name},
          {"bytes", reasoning.size()},
          {"tokens", followed.tokens},
          {"family", set.family},
          {"set", set.origin},
          {"engine", "re2"},
          {"state_bytes", Triggers::state_bytes()},
          {"backend", followed.backend},
          {"triggers", std::move(seen)},
          {"harvest", std::move(harvest)},
          {"repeated", followed.repeated}};
}

class TriggersCommand : public CliCommand {
 public:
  explicit TriggersCommand(CLI::App& app) {
    app.add_option("FILE", options_.file, "the trace, or - for standard input")->required();
    app.add_option("--model", options_.model, "whose patterns (default: the cassette's, or any)")
        ->type_name("NAME");
    one_of(app.add_option(
                  "--backend", options_.backend,
                  "what to harvest for: cpu, cuda, or auto (default), the one with more drafts")
               ->type_name("B"),
           {std::string(kAnyBackend), "cpu", "cuda"});
    app.add_option("--triggers", options_.set, "patterns of your own")->type_name("SET.toml");
    add_flag(app, "--json", options_.json, "print one JSON document (schema specgen.triggers)");
  }

  Result<ExitCode> run(const CommandContext&) override {
    std::vector<Trace> traces = TRY(read_traces(options_));
    boost::json::array streams;
    std::string text;
    for (const Trace& trace : traces) {
      Followed followed = TRY(follow(trace, options_));
      if (options_.json) streams.push_back(json_of(followed));
      if (!options_.json) text += (text.empty() ? "" : "\n") + text_of(followed);
    }
    Json document{{"schema", "specgen.triggers"},
                  {"schema_version", 1},
                  {"file", options_.file},
                  {"backend", options_.backend},
                  {"streams", std::move(streams)}};
    TRY(print_output(options_.json ? pretty_json(document) : text));
    return ExitCode::done;
  }

 private:
  TriggersOptions options_;
};

}  // namespace

AddedCommand add_triggers_command(CLI::App& program) {
  CLI::App* app = program.add_subcommand(
      "triggers",
      "show which triggers match in a trace, where it would be cut, and which drafts it has\n\n"
      "A trace is a text with a model's reasoning, or a cassette. Nothing is run and no model is "
      "called:\n"
      "this is for fitting patterns to a model, and for seeing why there was a fork, or none.\n"
      "docs/reference/speculation.md explains triggers.");
  return {app, std::make_unique<TriggersCommand>(*app)};
}

}  // namespace specgen
