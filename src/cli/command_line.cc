#include "cli/command_line.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>

#include "base/text.h"
#include "cli/compare_words.h"
#include "cli/kv_words.h"
#include "cli/numbers.h"
#include "cli/optimize_words.h"
#include "cli/probe_words.h"
#include "cli/run_words.h"
#include "cli/simulate_words.h"
#include "cli/usage.h"
#include "cli/version.h"
#include "evaluate/host/internal_probe.h"
#include "evaluate/node/device_list.h"

namespace specgen {
namespace {

constexpr const char* kTimeLimitHelp = "the longest that any one check may take (default 20s)";

std::vector<std::string> flags_of(const CLI::App& app) {
  std::vector<std::string> flags;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) flags.push_back("--" + name);
    for (const std::string& name : option->get_snames()) flags.push_back("-" + name);
  }
  return flags;
}

bool is_hidden(const CLI::App& app) {
  return app.get_group().empty();
}

ProgramNames names_of(const CLI::App& app) {
  ProgramNames names{.program = app.get_name(), .flags = flags_of(app), .commands = {}};
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) {
    if (!is_hidden(*command)) names.commands.push_back({command->get_name(), flags_of(*command)});
  }
  return names;
}

// "  --config FILE   settings to read"
std::string option_lines(std::initializer_list<const CLI::App*> apps) {
  std::vector<std::pair<std::string, std::string>> rows;
  std::vector<std::string> seen;
  for (const CLI::App* app : apps) {
    for (const CLI::Option* option : app->get_options()) {
      std::string name = option->get_name(false, true);  // "-h,--help"
      if (std::ranges::find(seen, name) != seen.end() || !option->nonpositional()) continue;
      seen.push_back(name);
      if (auto comma = name.find(','); comma != std::string::npos) name.insert(comma + 1, " ");
      if (option->get_type_size() > 0) name += " " + option->get_type_name();
      rows.emplace_back(name, option->get_description());
    }
  }
  std::size_t width = 0;
  for (const auto& [name, _] : rows) width = std::max(width, name.size());
  std::string lines;
  for (const auto& [name, description] : rows) {
    lines += fmt::format("  {:<{}}   {}\n", name, width, description);
  }
  return lines;
}

std::string command_help(const CLI::App& app, const CLI::App& command) {
  std::string positional;
  for (const CLI::Option* option : command.get_options()) {
    if (!option->get_positional()) continue;
    std::string name = option->get_name(true);
    positional += option->get_required() ? " " + name : " [" + name + "]";
  }
  return fmt::format("{}\n\nusage: {} {}{} [options]\n\noptions:\n{}", command.get_description(),
                     app.get_name(), command.get_name(), positional,
                     option_lines({&command, &app}));
}

std::string specgen_help(const CLI::App& app) {
  std::string commands;
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) {
    if (is_hidden(*command)) continue;
    commands +=
        fmt::format("  {:<8}   {}\n", command->get_name(), first_line(command->get_description()));
  }
  return fmt::format(
      "specgen makes GPU and CPU kernels faster: a model writes them, this host judges and times "
      "them.\n\n"
      "usage: specgen COMMAND [options]\n\n"
      "commands:\n{}\n"
      "options:\n{}\n"
      "example:\n"
      "  specgen optimize tasks/softmax --model author            make a kernel faster\n"
      "  specgen eval tasks/softmax tasks/softmax/baseline.cc     judge a kernel\n\n"
      "documentation: README.md and docs/ of the source tree\n",
      commands, option_lines({&app}));
}

std::string node_help(const CLI::App& app) {
  return fmt::format(
      "specgen-node is the part of specgen that lives on an evaluation host.\n\n"
      "usage: specgen-node [--devices LIST] [options]\n"
      "       specgen-node --kv SIZE [--kv-listen ADDRESS] [options]\n"
      "       specgen-node --check [options]\n\n"
      "Without --check it serves its devices to a controller over standard input and output, in\n"
      "frames (docs/node.md). With --kv it lends spare memory to LLM servers besides, and does "
      "only\n"
      "that where no controller is on its standard input, until Ctrl-C or SIGTERM.\n\n"
      "options:\n{}\n"
      "example:\n"
      "  specgen-node --check --json     what this host offers to a controller\n"
      "  specgen-node --kv 16GiB         a KV cache for LLM servers on this host, at port 6380\n\n"
      "documentation: README.md and docs/ of the source tree\n",
      option_lines({&app}));
}

// Before anything is added to it: commands inherit the flags' words.
void set_up(CLI::App& app) {
  app.set_help_flag("-h,--help", "this text");
  app.set_version_flag("--version", fmt::format("{} {}\n", app.get_name(), version()),
                       "the version of this program");
  app.fallthrough();             // flags of all commands may also follow the command
  app.require_subcommand(0, 1);  // a second command's name is a word like any other
}

// The parser's own words name types and counts; ours name the flag.
std::string complaint_about_value(std::string_view words) {
  std::string flag(words.substr(0, words.find_first_of(": ")));
  if (!flag.starts_with('-')) flag.insert(0, "--");
  auto says = [&](std::string_view part) { return words.find(part) != std::string_view::npos; };
  std::string_view what = says("At Most")    ? "is given more than once"
                          : says("required") ? "needs a value"
                                             : "takes no value";
  return fmt::format("'{}' {}", flag, what);
}

// Runs the parser. Nothing: go on. Else what there is to show, or what is wrong.
std::optional<Result<Invocation>> parse(CLI::App& app, std::span<const std::string> words,
                                        const std::function<std::string()>& top_help) {
  auto chosen = [&]() -> const CLI::App* {
    auto commands = app.get_subcommands();
    return commands.empty() ? nullptr : commands.front();
  };
  auto chosen_name = [&] { return chosen() ? chosen()->get_name() : std::string(); };
  auto show = [](std::string text) { return Invocation{.config = {}, .what = ShowText{text}}; };
  try {
    app.parse(
        std::vector<std::string>(words.rbegin(), words.rend()));  // it takes them from the back
    return std::nullopt;
  } catch (const CLI::CallForVersion& asked) {
    return show(asked.what());
  } catch (const CLI::CallForHelp&) {
    return show(chosen() ? command_help(app, *chosen()) : top_help());
  } catch (const CLI::ExtrasError&) {
    std::vector<std::string> unused = app.remaining(true);
    std::string first = unused.empty() ? std::string() : unused.front();
    return std::unexpected(unexpected_word(first, chosen_name(), names_of(app)));
  } catch (const CLI::ArgumentMismatch& error) {
    return std::unexpected(
        bad_usage(complaint_about_value(error.what()), chosen_name(), names_of(app)));
  } catch (const CLI::ParseError& error) {
    return std::unexpected(bad_usage(error.what(), chosen_name(), names_of(app)));
  }
}

Result<Duration> time_limit(const std::string& text, std::string_view flag = "--time-limit") {
  auto limit = parse_duration(text);
  if (limit && *limit > Duration::zero()) return *limit;
  return fail(ErrorCode::bad_usage, fmt::format("{}: '{}' is not a length of time", flag, text),
              "write a number with a unit, such as 500ms, 20s or 1m30s");
}

Result<SandboxLevel> sandbox_level(const std::string& text, std::string_view flag) {
  for (SandboxLevel level : {SandboxLevel::lsm, SandboxLevel::namespaces, SandboxLevel::full}) {
    if (text == to_string(level)) return level;
  }
  return fail(ErrorCode::bad_usage, fmt::format("{}: '{}' is no level", flag, text),
              "levels are L1, L2 and L3; `specgen doctor` shows what this host allows");
}

// What the words of `specgen eval` were parsed into, before they are looked at.
struct EvalWords {
  EvaluateCandidate command;
  std::vector<std::string> sets, shapes;
  std::string level, max_level, call_limit, time_limit, secret;

  void add_to(CLI::App& app) {
    app.add_option("TASK", command.task,
                   "a task folder, FOLDER:DTYPE, or a KernelBench-style .py file")
        ->required();
    app.add_option("CANDIDATE", command.candidate, "the kernel's source")->required();
    app.add_option("--device", command.device, "where to judge it: cpu:0 (default), cuda:0, ...")
        ->type_name("D");
    app.add_flag("--json", command.json, "print one JSON document (schema specgen.evaluation)")
        ->disable_flag_override();
    app.add_option("--set", sets, "a tunable's value instead of its default")
        ->type_name("NAME=N")
        ->allow_extra_args(false);  // what follows its value is a word of its own
    app.add_option("--shape", shapes, "a constant of a PyTorch task's file, replaced")
        ->type_name("NAME=N")
        ->allow_extra_args(false);
    app.add_flag("--counters", command.counters,
                 "hardware counters of a GPU in the profile (takes seconds)")
        ->disable_flag_override();
    app.add_option("--include", command.include_folders,
                   "a folder that CUDA candidates may include from, such as CUTLASS")
        ->type_name("DIR")
        ->allow_extra_args(false);
    app.add_option("--call-limit", call_limit, "the longest that one call may take (default 10s)")
        ->type_name("D");
    app.add_option("--time-limit", time_limit, "the longest that all of it may take (default 10m)")
        ->type_name("D");
    app.add_option("--require-sandbox", level,
                   "fail if the sandbox is weaker than this: L1, L2, L3")
        ->type_name("LEVEL");
    // For tests, which see with it what holds on hosts that allow less; so help does not show it.
    app.add_option("--sandbox-at-most", max_level)->group("");
    app.add_flag("--allow-unsandboxed", command.allow_unsandboxed,
                 "go on where no sandbox holds; for candidates that you would run yourself")
        ->disable_flag_override();
    app.add_option("--secret", secret, "32 hex digits: the same hidden cases and data again")
        ->type_name("HEX");
  }

  Result<EvaluateCandidate> look() {
    command.tunables = TRY(assignments(sets, "--set"));
    command.shapes = TRY(assignments(shapes, "--shape"));
    if (!level.empty()) command.require_sandbox = TRY(sandbox_level(level, "--require-sandbox"));
    if (!max_level.empty()) {
      command.sandbox_at_most = TRY(sandbox_level(max_level, "--sandbox-at-most"));
    }
    if (!call_limit.empty())
      command.call_limit = TRY(specgen::time_limit(call_limit, "--call-limit"));
    if (!time_limit.empty()) command.time_limit = TRY(specgen::time_limit(time_limit));
    auto is_hex = [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); };
    if (!secret.empty() && (secret.size() != 32 || !std::ranges::all_of(secret, is_hex))) {
      return fail(ErrorCode::bad_usage, "--secret: it must be 32 digits of 0-9 and a-f");
    }
    if (!secret.empty()) command.secret = secret;
    command.model_new = command.candidate.ends_with(".py");
    return command;
  }
};

// The same for `specgen author`.
struct AuthorWords {
  ServeAuthor command;
  std::string seed, mistakes;

  void add_to(CLI::App& app) {
    app.add_option("--listen", command.listen, "where to listen; port 0 takes one that is free")
        ->type_name("HOST:PORT")
        ->required();
    app.add_option("--pace", command.pace,
                   "fast (default), instant, paper, or a number of tokens per second")
        ->type_name("P");
    app.add_option("--seed", seed, "another seed gives other thoughts (default 0)")->type_name("N");
    app.add_option("--mistakes", mistakes, "the share of kernels that are not right, from 0 to 1")
        ->type_name("RATE");
  }

  Result<ServeAuthor> look() {
    if (!seed.empty()) command.seed = TRY(number_of<std::uint64_t>(seed, "--seed"));
    if (!mistakes.empty()) command.mistakes = TRY(number_of<double>(mistakes, "--mistakes"));
    if (command.mistakes && !(*command.mistakes >= 0 && *command.mistakes <= 1)) {
      return fail(ErrorCode::bad_usage, "--mistakes: a rate is between 0 and 1");
    }
    return command;
  }
};

CLI::App* add_record(CLI::App& app, RecordCassette& command) {
  CLI::App* record = app.add_subcommand(
      "record",
      "stand in front of a model's server and record what passes into a cassette\n\n"
      "Point a client at http://HOST:PORT instead of the server; Ctrl-C ends the recording. Keys "
      "pass\n"
      "through and are not recorded. docs/cassettes.md has the format.");
  record->add_option("--listen", command.listen, "where clients are to ask; port 0: any free one")
      ->type_name("HOST:PORT")
      ->required();
  record->add_option("--upstream", command.upstream, "the server, such as http://127.0.0.1:8000/v1")
      ->type_name("URL")
      ->required();
  record->add_option("--out", command.out, "the cassette; a file that is there is not overwritten")
      ->type_name("FILE")
      ->required();
  record->add_flag("--append", command.append, "go on in a cassette that is there")
      ->disable_flag_override();
  return record;
}

CLI::App* add_replay(CLI::App& app, ReplayCassette& command) {
  CLI::App* replay = app.add_subcommand(
      "replay",
      "answer from a cassette, as the recorded server did\n\n"
      "The header x-specgen-replay of an answer says whether it is exact, or that of the nearest\n"
      "recorded fork. Keys are not asked for.");
  replay->add_option("FILE", command.file, "the cassette")->required();
  replay->add_option("--listen", command.listen, "where to listen; port 0: any free one")
      ->type_name("HOST:PORT")
      ->required();
  replay->add_option("--pace", command.pace, "original (default), instant, or a factor such as 10x")
      ->type_name("P");
  return replay;
}

CLI::App* add_triggers(CLI::App& app, ShowTriggers& command) {
  CLI::App* triggers = app.add_subcommand(
      "triggers",
      "show what matches in a trace, where it would be cut, and what it would harvest\n\n"
      "A trace is a text with a model's thinking, or a cassette. docs/speculation.md explains "
      "triggers.");
  triggers->add_option("FILE", command.file, "the trace, or - for standard input")->required();
  triggers->add_option("--model", command.model, "whose patterns (default: the cassette's, or any)")
      ->type_name("NAME");
  triggers->add_option("--backend", command.backend, "what to harvest for: cuda (default) or cpu")
      ->type_name("B");
  triggers->add_option("--triggers", command.set, "patterns of your own")->type_name("SET.toml");
  triggers->add_flag("--json", command.json, "print one JSON document (schema specgen.triggers)")
      ->disable_flag_override();
  return triggers;
}

Result<ShowTriggers> looked_at(const ShowTriggers& command) {
  if (command.backend == "cpu" || command.backend == "cuda") return command;
  return fail(ErrorCode::bad_usage,
              fmt::format("--backend: '{}' is neither cpu nor cuda", command.backend));
}

}  // namespace

Result<Invocation> parse_specgen(std::span<const std::string> words) {
  CLI::App app("specgen", "specgen");
  set_up(app);
  std::string config, help_topic, probe, limit_text;
  CheckHost check;
  ProbeModel probe_model;
  app.add_option("--config", config,
                 "settings to use instead of ./specgen.toml or ~/.config/specgen/specgen.toml")
      ->type_name("FILE");
  CLI::App* doctor = app.add_subcommand(
      "doctor",
      "what this host can do, and how to mend what it lacks\n\n"
      "Exit code 0 if kernels can be evaluated here (CPU or CUDA), 3 if not.\n"
      "With --model: what a model's server can do; exit code 3 if it is not usable.");
  doctor->add_flag("--json", check.json, "print one JSON document (schema specgen.doctor)")
      ->disable_flag_override();
  doctor->add_option("--time-limit", limit_text, kTimeLimitHelp)->type_name("D");
  doctor
      ->add_option("--model", probe_model.spec,
                   "try a model instead: openai:NAME@URL, or a name of specgen.toml (costs a few "
                   "thousand tokens)")
      ->type_name("SPEC");
  EvalWords eval_words;
  CLI::App* eval = app.add_subcommand(
      "eval",
      "judge one candidate: verdict, speedup with interval, profile\n\n"
      "Exit code 0 only if the verdict is ok, 1 for any other verdict, 2 if the task is wrong.");
  eval_words.add_to(*eval);
  ListTasks list;
  CLI::App* tasks = app.add_subcommand(
      "tasks",
      "list tasks, or check that they tell right from wrong\n\n"
      "Without DIR: the tasks that ship. Exit code 2 if one is malformed or not admitted.");
  tasks->add_option("DIR", list.folder, "where to look");
  tasks
      ->add_flag("--check", list.check,
                 "run each task's baseline and show its checker what cheats produce")
      ->disable_flag_override();
  tasks->add_flag("--json", list.json, "print one JSON document (schema specgen.tasks)")
      ->disable_flag_override();
  tasks->add_option("--device", list.device, "where to run baselines (default cpu:0)")
      ->type_name("D");
  NewTask fresh;
  CLI::App* new_task =
      app.add_subcommand("new", "write a task to start from, in a new folder NAME");
  new_task->add_option("NAME", fresh.name, "the folder and the task's name")->required();
  AuthorWords author_words;
  CLI::App* author = app.add_subcommand(
      "author",
      "serve the built-in kernel writer as an OpenAI-compatible API\n\n"
      "It is a deterministic program and not a language model (docs/author.md).");
  author_words.add_to(*author);
  RecordCassette recording;
  CLI::App* record = add_record(app, recording);
  ReplayCassette replaying;
  CLI::App* replay = add_replay(app, replaying);
  ShowTriggers showing;
  CLI::App* triggers = add_triggers(app, showing);
  OptimizeWords optimize_words;
  optimize_words.add_to(app);
  ProbeWords probe_words;
  probe_words.add_to(app);
  RunWords run_words;
  run_words.add_to(app);
  SimulateWords simulate_words;
  simulate_words.add_to(app);
  CompareWords compare_words;
  compare_words.add_to(app);
  KvWords kv_words;
  kv_words.add_to(app);
  CLI::App* help = app.add_subcommand("help", "this text, or that of one command");
  help->add_option("COMMAND", help_topic, "whose help to show");
  CLI::App* internal = app.add_subcommand(std::string(kInternalProbe))->group("");
  internal->add_option("WHAT", probe)->required();

  auto top_help = [&] { return specgen_help(app); };
  if (auto done = parse(app, words, top_help)) return std::move(*done);
  Invocation invocation;
  if (!config.empty()) invocation.config = config;
  if (internal->parsed()) {
    invocation.what = InternalProbe{probe};
  } else if (doctor->parsed() && doctor->count("--model") > 0) {
    if (!limit_text.empty()) probe_model.time_limit = TRY(time_limit(limit_text));
    probe_model.json = check.json;
    invocation.what = probe_model;
  } else if (doctor->parsed()) {
    if (!limit_text.empty()) check.time_limit = TRY(time_limit(limit_text));
    invocation.what = check;
  } else if (eval->parsed()) {
    invocation.what = TRY(eval_words.look());
  } else if (tasks->parsed()) {
    invocation.what = list;
  } else if (new_task->parsed()) {
    invocation.what = fresh;
  } else if (author->parsed()) {
    invocation.what = TRY(author_words.look());
  } else if (record->parsed()) {
    invocation.what = recording;
  } else if (replay->parsed()) {
    invocation.what = replaying;
  } else if (triggers->parsed()) {
    invocation.what = TRY(looked_at(showing));
  } else if (auto optimize = optimize_words.chosen()) {
    invocation.what = TRY(std::move(*optimize));
  } else if (auto probe_reasoning = probe_words.chosen()) {
    invocation.what = TRY(std::move(*probe_reasoning));
  } else if (auto of_runs = run_words.chosen()) {
    invocation.what = std::move(of_runs->what);
  } else if (auto comparison = compare_words.chosen()) {
    invocation.what = std::move(comparison->what);
  } else if (auto simulation = simulate_words.chosen()) {
    invocation.what = std::move(simulation->what);
  } else if (auto kv = kv_words.chosen()) {
    invocation.what = TRY(std::move(*kv)).what;
  } else if (help->parsed() && !help_topic.empty()) {
    ProgramNames names = names_of(app);
    bool known =
        std::ranges::find(names.commands, help_topic, &CommandNames::name) != names.commands.end();
    if (!known) return std::unexpected(unexpected_word(help_topic, {}, names));
    invocation.what = ShowText{command_help(app, *app.get_subcommand(help_topic))};
  } else {
    invocation.what = ShowText{specgen_help(app), help->parsed()};
  }
  return invocation;
}

Result<Invocation> parse_node(std::span<const std::string> words) {
  CLI::App app("specgen-node", "specgen-node");
  set_up(app);
  std::string probe, limit_text, devices_text = "auto";
  bool wants_check = false;
  CheckHost check;
  ServeNode serve;
  CLI::Option* check_flag =
      app.add_flag("--check", wants_check, "say what this host offers to a controller, and end")
          ->disable_flag_override();
  app.add_flag("--json", check.json, "print one JSON document (schema specgen.node-check)")
      ->disable_flag_override()
      ->needs(check_flag);
  app.add_option("--time-limit", limit_text, kTimeLimitHelp)->type_name("D")->needs(check_flag);
  app.add_option("--devices", devices_text,
                 "which to serve, such as cpu:0,cuda:0 (default: auto, which is all)")
      ->type_name("LIST");
  app.add_option("--compiler", serve.compiler, "the C++ compiler to use instead of the one found")
      ->type_name("PROGRAM");
  app.add_option("--python", serve.python, "the Python to use (default python3)")
      ->type_name("PROGRAM");
  app.add_option("--ncu", serve.ncu, "the profiler to use (default ncu)")->type_name("PROGRAM");
  NodeKvWords kv_words;
  kv_words.add_to(app);
  CLI::App* internal = app.add_subcommand(std::string(kInternalProbe))->group("");
  internal->add_option("WHAT", probe)->required();

  auto top_help = [&] { return node_help(app); };
  if (auto done = parse(app, words, top_help)) return std::move(*done);
  Invocation invocation;
  if (internal->parsed()) {
    invocation.what = InternalProbe{probe};
  } else if (wants_check) {
    if (!limit_text.empty()) check.time_limit = TRY(time_limit(limit_text));
    invocation.what = check;
  } else {
    serve.devices = TRY(parse_device_list(devices_text));
    serve.kv = TRY(kv_words.look());
    invocation.what = serve;
  }
  return invocation;
}

}  // namespace specgen
