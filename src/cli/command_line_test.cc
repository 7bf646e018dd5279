#include "cli/command_line.h"

#include <gtest/gtest.h>

#include "cli/usage.h"
#include "cli/version.h"

namespace specgen {
namespace {

using namespace std::chrono_literals;
using Words = std::vector<std::string>;

Error error_of(Result<Invocation> parsed) {
  if (!parsed) return parsed.error();
  ADD_FAILURE() << "this was understood";
  return {};
}
std::string shown(const Result<Invocation>& parsed) {
  const auto* text = parsed ? std::get_if<ShowText>(&parsed->what) : nullptr;
  return text && text->asked_for ? text->text : std::string();
}

TEST(SpecgenCommandLine, doctor_of_a_model) {
  auto parsed = parse_specgen(
      Words{"doctor", "--model", "openai:m@http://h/v1", "--json", "--time-limit", "9s"});
  ASSERT_TRUE(parsed.has_value()) << parsed.error().text();
  const auto& probe = std::get<ProbeModel>(parsed->what);
  EXPECT_EQ(probe.spec, "openai:m@http://h/v1");
  EXPECT_TRUE(probe.json);
  EXPECT_EQ(probe.time_limit, std::chrono::seconds(9));
}

TEST(SpecgenCommandLine, commands_that_look_at_runs) {
  auto exported =
      parse_specgen(Words{"export", "runs/a", "--as", "torch", "--task", "gelu", "--out", "d"});
  ASSERT_TRUE(exported.has_value()) << exported.error().text();
  const auto& out = std::get<ExportRun>(exported->what);
  EXPECT_EQ(out.run + " " + out.as + " " + out.task + " " + out.out, "runs/a torch gelu d");
  EXPECT_EQ(std::get<ReportRun>(parse_specgen(Words{"report", "r", "--html", "x.html"})->what).html,
            "x.html");
  EXPECT_TRUE(std::get<ListRuns>(parse_specgen(Words{"runs", "--clean"})->what).clean);
  EXPECT_TRUE(std::get<VerifyRun>(parse_specgen(Words{"verify", "r", "--json"})->what).json);
  EXPECT_EQ(error_of(parse_specgen(Words{"export", "runs/a"})).code, ErrorCode::bad_usage);
  EXPECT_EQ(error_of(parse_specgen(Words{"report"})).code, ErrorCode::bad_usage);
}

TEST(SpecgenCommandLine, doctor_with_its_flags) {
  auto parsed = parse_specgen(Words{"doctor", "--json", "--time-limit", "500ms"});
  ASSERT_TRUE(parsed.has_value());
  auto check = std::get<CheckHost>(parsed->what);
  EXPECT_TRUE(check.json);
  EXPECT_EQ(check.time_limit, 500ms);
  EXPECT_FALSE(parsed->config.has_value());
}

TEST(SpecgenCommandLine, triggers_with_its_flags) {
  auto parsed = parse_specgen(Words{"triggers", "-", "--model", "glm-5", "--backend", "cpu",
                                    "--triggers", "mine.toml", "--json"});
  ASSERT_TRUE(parsed.has_value()) << parsed.error().text();
  const auto& show = std::get<ShowTriggers>(parsed->what);
  EXPECT_EQ(show.file, "-");
  EXPECT_EQ(show.model, "glm-5");
  EXPECT_EQ(show.backend, "cpu");
  EXPECT_EQ(show.set, "mine.toml");
  EXPECT_TRUE(show.json);
  EXPECT_EQ(error_of(parse_specgen(Words{"triggers", "x", "--backend", "gpu"})).code,
            ErrorCode::bad_usage);
}

TEST(SpecgenCommandLine, config_stands_before_or_after_the_command) {
  for (const Words& words :
       {Words{"--config", "a.toml", "doctor"}, Words{"doctor", "--config=a.toml"}}) {
    auto parsed = parse_specgen(words);
    ASSERT_TRUE(parsed.has_value());
    EXPECT_EQ(parsed->config, "a.toml");
    EXPECT_EQ(std::get<CheckHost>(parsed->what).time_limit, 20s);
  }
}

TEST(SpecgenCommandLine, an_unknown_command_is_told_with_the_nearest) {
  Error error = error_of(parse_specgen(Words{"docter", "--json"}));
  EXPECT_EQ(error.text(),
            "error E101: invalid command line: there is no command 'docter'; did you "
            "mean 'doctor'?\n  what to do: see `specgen --help`");
  EXPECT_EQ(error.exit_code(), ExitCode::usage);
}

TEST(SpecgenCommandLine, an_unknown_flag_is_told_with_the_nearest_of_its_command) {
  Error error = error_of(parse_specgen(Words{"doctor", "--jsn"}));
  EXPECT_EQ(error.context, "there is no flag '--jsn'; did you mean '--json'?");
  EXPECT_EQ(error.what_to_do(), "see `specgen doctor --help`");
  EXPECT_EQ(error_of(parse_specgen(Words{"--confg=x", "doctor"})).context,
            "there is no flag '--confg'; did you mean '--config'?");
}

TEST(SpecgenCommandLine, a_flag_before_its_command_is_shown_its_place) {
  EXPECT_EQ(error_of(parse_specgen(Words{"--json"})).context,
            "'--json' comes after its command: specgen doctor --json");
}

TEST(SpecgenCommandLine, words_and_values_too_many_or_too_few) {
  EXPECT_EQ(error_of(parse_specgen(Words{"doctor", "doctor"})).context,
            "'doctor' is one word too many for 'doctor'");
  EXPECT_EQ(error_of(parse_specgen(Words{"--config"})).context, "'--config' needs a value");
  EXPECT_EQ(error_of(parse_specgen(Words{"doctor", "--json=yes"})).context,
            "'--json' takes no value");
  EXPECT_EQ(error_of(parse_specgen(Words{"--config", "a", "--config", "b", "doctor"})).context,
            "'--config' is given more than once");
}

TEST(SpecgenCommandLine, a_time_limit_is_a_length_of_time) {
  for (const char* bad : {"5", "0s", "soon"}) {
    Error error = error_of(parse_specgen(Words{"doctor", "--time-limit", bad}));
    EXPECT_EQ(error.context, std::string("--time-limit: '") + bad + "' is not a length of time");
  }
}

TEST(SpecgenCommandLine, help_is_what_was_asked_for) {
  std::string top = shown(parse_specgen(Words{"--help"}));
  EXPECT_EQ(shown(parse_specgen(Words{"help"})), top);
  for (const char* part : {"\n  doctor ", "\n  eval ", "\n  tasks ", "\n  new ", "\n  help ",
                           "--config FILE", "example:", "documentation:"}) {
    EXPECT_NE(top.find(part), std::string::npos) << part;
  }
  EXPECT_EQ(top.find("internal-probe"), std::string::npos);
  std::string doctor = shown(parse_specgen(Words{"doctor", "-h"}));
  EXPECT_NE(doctor.find("usage: specgen doctor [options]"), std::string::npos) << doctor;
  EXPECT_EQ(shown(parse_specgen(Words{"help", "doctor"})), doctor);
  EXPECT_EQ(error_of(parse_specgen(Words{"help", "docter"})).context,
            "there is no command 'docter'; did you mean 'doctor'?");
}

TEST(SpecgenCommandLine, no_words_show_help_as_an_answer_to_bad_usage) {
  auto parsed = parse_specgen(Words{});
  ASSERT_TRUE(parsed.has_value());
  EXPECT_FALSE(std::get<ShowText>(parsed->what).asked_for);
}

TEST(SpecgenCommandLine, version_is_one_line) {
  EXPECT_EQ(shown(parse_specgen(Words{"--version"})), "specgen " + std::string(version()) + "\n");
  EXPECT_EQ(shown(parse_node(Words{"--version"})), "specgen-node " + std::string(version()) + "\n");
}

TEST(SpecgenCommandLine, our_own_child_is_understood_by_both) {
  for (auto* parse : {parse_specgen, parse_node}) {
    auto parsed = parse(Words{"internal-probe", "nvrtc"});
    ASSERT_TRUE(parsed.has_value());
    EXPECT_EQ(std::get<InternalProbe>(parsed->what).what, "nvrtc");
  }
}

EvaluateCandidate eval_of(Words words) {
  words.insert(words.begin(), "eval");
  auto parsed = parse_specgen(words);
  auto* eval = parsed ? std::get_if<EvaluateCandidate>(&parsed->what) : nullptr;
  if (eval) return *eval;
  ADD_FAILURE() << (parsed ? "something else was understood" : parsed.error().text());
  return {};
}

TEST(EvalCommandLine, a_task_and_a_candidate_are_enough) {
  EvaluateCandidate eval = eval_of({"tasks/softmax", "a.cc"});
  EXPECT_EQ(eval.task, "tasks/softmax");
  EXPECT_EQ(eval.candidate, "a.cc");
  EXPECT_EQ(eval.device, "cpu:0");
  EXPECT_FALSE(eval.json || eval.counters || eval.allow_unsandboxed || eval.model_new);
  EXPECT_EQ(eval.require_sandbox, SandboxLevel::lsm);
  EXPECT_FALSE(eval.secret.has_value());
  EXPECT_EQ(eval.call_limit, 10s);
  EXPECT_EQ(eval.time_limit, 10min);
}

TEST(EvalCommandLine, every_flag_is_understood) {
  EvaluateCandidate eval = eval_of({"t",
                                    "c.cu",
                                    "--device",
                                    "cuda:1",
                                    "--json",
                                    "--set",
                                    "BLOCK=256",
                                    "--set",
                                    "N=-3",
                                    "--shape",
                                    "batch=4",
                                    "--counters",
                                    "--include",
                                    "a",
                                    "--include",
                                    "b",
                                    "--call-limit",
                                    "500ms",
                                    "--time-limit",
                                    "2m",
                                    "--require-sandbox",
                                    "L3",
                                    "--allow-unsandboxed",
                                    "--secret",
                                    "0123456789abcdef0123456789abcdef"});
  EXPECT_EQ(eval.device, "cuda:1");
  EXPECT_TRUE(eval.json && eval.counters && eval.allow_unsandboxed);
  EXPECT_EQ(eval.tunables, (std::map<std::string, std::int64_t>{{"BLOCK", 256}, {"N", -3}}));
  EXPECT_EQ(eval.shapes, (std::map<std::string, std::int64_t>{{"batch", 4}}));
  EXPECT_EQ(eval.include_folders, (Words{"a", "b"}));
  EXPECT_EQ(eval.call_limit, 500ms);
  EXPECT_EQ(eval.time_limit, 2min);
  EXPECT_EQ(eval.require_sandbox, SandboxLevel::full);
  EXPECT_EQ(eval.secret, "0123456789abcdef0123456789abcdef");
}

TEST(EvalCommandLine, flags_may_stand_before_the_words) {
  EvaluateCandidate eval =
      eval_of({"--set", "A=1", "--shape", "n=2", "--include", "folder", "--json", "t", "c"});
  EXPECT_EQ(eval.task, "t");
  EXPECT_EQ(eval.candidate, "c");
  EXPECT_EQ(eval.include_folders, Words{"folder"});
}

TEST(EvalCommandLine, a_python_candidate_is_a_class_of_its_own) {
  EXPECT_TRUE(eval_of({"t.py", "new.py"}).model_new);
  EXPECT_FALSE(eval_of({"t.py", "new.cu"}).model_new);
}

TEST(EvalCommandLine, what_a_flag_cannot_mean_is_told) {
  auto context = [](Words more) {
    more.insert(more.begin(), {"eval", "t", "c"});
    Error error = error_of(parse_specgen(more));
    EXPECT_EQ(error.exit_code(), ExitCode::usage);
    return error.context;
  };
  for (const char* bad : {"", "BLOCK", "BLOCK=", "=4", "BLOCK=4x", "BLOCK=0x4", "BLOCK=1.5",
                          "BLOCK=99999999999999999999"}) {
    EXPECT_EQ(context({"--set", bad}), std::string("--set: '") + bad + "' is not NAME=N");
  }
  EXPECT_EQ(context({"--shape", "n"}), "--shape: 'n' is not NAME=N");
  for (const char* bad : {"L0", "L4", "l3", "3", "none"}) {
    EXPECT_EQ(context({"--require-sandbox", bad}),
              std::string("--require-sandbox: '") + bad + "' is no level");
  }
  for (const char* bad :
       {"12", "0123456789ABCDEF0123456789ABCDEF", "0123456789abcdef0123456789abcdef0",
        "0x23456789abcdef0123456789abcdef"}) {
    EXPECT_EQ(context({"--secret", bad}), "--secret: it must be 32 digits of 0-9 and a-f") << bad;
  }
  EXPECT_EQ(context({"--call-limit", "0s"}), "--call-limit: '0s' is not a length of time");
  EXPECT_EQ(context({"third"}), "'third' is one word too many for 'eval'");
  EXPECT_EQ(context({"--devise", "x"}), "there is no flag '--devise'; did you mean '--device'?");
}

TEST(EvalCommandLine, both_words_are_needed) {
  for (const Words& words : {Words{"eval"}, Words{"eval", "t"}}) {
    Error error = error_of(parse_specgen(words));
    EXPECT_EQ(error.exit_code(), ExitCode::usage);
    EXPECT_EQ(error.what_to_do(), "see `specgen eval --help`");
  }
}

TEST(TasksCommandLine, a_folder_and_flags_or_nothing) {
  auto parsed = parse_specgen(Words{"tasks"});
  ASSERT_TRUE(parsed.has_value());
  EXPECT_EQ(std::get<ListTasks>(parsed->what).folder, "");
  EXPECT_FALSE(std::get<ListTasks>(parsed->what).check);
  parsed = parse_specgen(Words{"tasks", "mine", "--check", "--json", "--device", "cpu:1-2"});
  ASSERT_TRUE(parsed.has_value());
  auto list = std::get<ListTasks>(parsed->what);
  EXPECT_EQ(list.folder, "mine");
  EXPECT_TRUE(list.check && list.json);
  EXPECT_EQ(list.device, "cpu:1-2");
  EXPECT_EQ(error_of(parse_specgen(Words{"tasks", "a", "b"})).context,
            "'b' is one word too many for 'tasks'");
  EXPECT_EQ(error_of(parse_specgen(Words{"tasks", "--chek"})).context,
            "there is no flag '--chek'; did you mean '--check'?");
}

TEST(NewCommandLine, takes_one_name) {
  auto parsed = parse_specgen(Words{"new", "mine"});
  ASSERT_TRUE(parsed.has_value());
  EXPECT_EQ(std::get<NewTask>(parsed->what).name, "mine");
  EXPECT_EQ(error_of(parse_specgen(Words{"new"})).exit_code(), ExitCode::usage);
  EXPECT_EQ(error_of(parse_specgen(Words{"new", "a", "b"})).context,
            "'b' is one word too many for 'new'");
}

TEST(NodeCommandLine, check_and_its_flags) {
  auto parsed = parse_node(Words{"--check", "--json", "--time-limit=3s"});
  ASSERT_TRUE(parsed.has_value());
  EXPECT_TRUE(std::get<CheckHost>(parsed->what).json);
  EXPECT_EQ(std::get<CheckHost>(parsed->what).time_limit, 3s);
  EXPECT_EQ(error_of(parse_node(Words{"--json"})).context, "--json requires --check");
  EXPECT_EQ(error_of(parse_node(Words{"--chek"})).context,
            "there is no flag '--chek'; did you mean '--check'?");
  EXPECT_EQ(error_of(parse_node(Words{"doctor"})).context, "'doctor' is one word too many");
}

TEST(SpecgenCommandLine, the_sandbox_can_be_held_down_for_tests_and_help_does_not_tell) {
  auto parsed = parse_specgen(Words{"eval", "t", "c.cc", "--sandbox-at-most", "L1"});
  ASSERT_TRUE(parsed.has_value());
  EXPECT_EQ(std::get<EvaluateCandidate>(parsed->what).sandbox_at_most, SandboxLevel::lsm);
  EXPECT_EQ(error_of(parse_specgen(Words{"eval", "t", "c.cc", "--sandbox-at-most", "L9"})).context,
            "--sandbox-at-most: 'L9' is no level");
  auto help = parse_specgen(Words{"eval", "--help"});
  ASSERT_TRUE(help.has_value());
  EXPECT_EQ(std::get<ShowText>(help->what).text.find("at-most"), std::string::npos);
}

TEST(NodeCommandLine, no_words_mean_serving_every_device) {
  auto parsed = parse_node(Words{});
  ASSERT_TRUE(parsed.has_value());
  EXPECT_EQ(std::get<ServeNode>(parsed->what).devices, Words{});
}

TEST(NodeCommandLine, devices_are_a_list) {
  for (const Words& words : {Words{"--devices", "cpu:0,cuda:1"}, Words{"--devices=cpu:0,cuda:1"}}) {
    auto parsed = parse_node(words);
    ASSERT_TRUE(parsed.has_value());
    EXPECT_EQ(std::get<ServeNode>(parsed->what).devices, (Words{"cpu:0", "cuda:1"}));
  }
  EXPECT_EQ(error_of(parse_node(Words{"--devices"})).context, "'--devices' needs a value");
  EXPECT_EQ(error_of(parse_node(Words{"--device", "cpu:0"})).context,
            "there is no flag '--device'; did you mean '--devices'?");
  EXPECT_EQ(error_of(parse_node(Words{"--devices", "cpu:0", "cuda:0"})).exit_code(),
            ExitCode::usage);
}

TEST(Usage, a_single_letter_is_not_guessed_at) {
  ProgramNames names{.program = "p", .flags = {"-h", "--help"}, .commands = {}};
  EXPECT_EQ(unexpected_word("-x", "", names).context, "there is no flag '-x'");
  EXPECT_EQ(unexpected_word("--hlep", "", names).context,
            "there is no flag '--hlep'; did you mean '--help'?");
}

TEST(NodeCommandLine, lends_memory_as_a_kv_cache) {
  auto parsed =
      parse_node(Words{"--kv", "16GiB,device=8GiB", "--kv-listen", "unix:/run/kv.sock",
                       "--kv-prefill", "32000", "--kv-bytes-per-token=131072", "--kv-lanes", "4"});
  ASSERT_TRUE(parsed.has_value()) << parsed.error().text();
  const auto& kv = std::get<ServeNode>(parsed->what).kv;
  ASSERT_TRUE(kv.has_value());
  EXPECT_EQ(kv->host, GiB(16));
  EXPECT_EQ(kv->device, GiB(8));
  EXPECT_EQ(kv->listen, "unix:/run/kv.sock");
  EXPECT_EQ(kv->prefill_tokens_per_s, 32000);
  EXPECT_EQ(kv->bytes_per_token, 131072);
  EXPECT_EQ(kv->lanes, 4u);
  EXPECT_FALSE(kv->is_open);
  EXPECT_EQ(std::get<ServeNode>(parse_node(Words{"--kv", "1GiB"})->what).kv->listen,
            "127.0.0.1:6380");
  EXPECT_FALSE(std::get<ServeNode>(parse_node(Words{})->what).kv.has_value());
  EXPECT_EQ(error_of(parse_node(Words{"--kv-open"})).context, "--kv-open requires --kv");
  EXPECT_EQ(error_of(parse_node(Words{"--kv", "1GiB", "--kv-prefill", "-1"})).context,
            "--kv-prefill must be more than 0");
  EXPECT_TRUE(error_of(parse_node(Words{"--kv", "1GiB,2GiB"})).context.contains("device=SIZE"));
}

}  // namespace
}  // namespace specgen
