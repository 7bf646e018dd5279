#include "cli/specgen_command_line.h"

#include <gtest/gtest.h>

#include "base/temporary_folder.h"
#include "cli/version.h"

namespace specgen {
namespace {

using Arguments = std::vector<std::string>;

Error error_of(const Arguments& arguments) {
  auto parsed = parse_specgen(arguments);
  if (!parsed) {
    EXPECT_EQ(parsed.error().exit_code(), ExitCode::usage);
    return parsed.error();
  }
  ADD_FAILURE() << "the command line was accepted";
  return {};
}

void expect_accepted(const Arguments& arguments) {
  auto parsed = parse_specgen(arguments);
  EXPECT_TRUE(parsed) << parsed.error().text();
}

struct Printed {
  std::string output, errors;
  ExitCode code = ExitCode::failed;
};
// For commands that only print.
Printed run(const Arguments& arguments) {
  auto parsed = parse_specgen(arguments);
  if (!parsed) {
    ADD_FAILURE() << parsed.error().text();
    return {};
  }
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  auto code = parsed->command->run(parsed->context);
  Printed printed{testing::internal::GetCapturedStdout(), testing::internal::GetCapturedStderr()};
  EXPECT_TRUE(code) << code.error().text();
  if (code) printed.code = *code;
  return printed;
}

TEST(SpecgenCommandLine, accepts_the_flags_of_every_command) {
  for (const Arguments& arguments : {
           Arguments{"doctor", "--model", "openai:m@http://h/v1", "--json", "--time-limit", "9s"},
           Arguments{"export", "runs/a", "--as", "torch", "--task", "gelu", "--out", "d"},
           Arguments{"report", "r", "--html", "x.html"},
           Arguments{"runs", "--clean"},
           Arguments{"verify", "r", "--json", "--device", "cuda:0"},
           Arguments{"triggers", "-", "--model", "glm-5", "--backend", "cpu", "--triggers",
                     "a.toml"},
           Arguments{"tasks", "mine", "--check", "--json", "--device", "cpu:1-2"},
           Arguments{"new", "mine"},
           Arguments{"author", "--listen", "h:0", "--pace", "fast", "--seed", "3", "--mistakes",
                     "0.5"},
           Arguments{"simulate", "calm", "--seed", "5", "--seeds", "2"},
           Arguments{"optimize", "softmax", "--iterations", "3", "--time-budget", "30m"},
           Arguments{"probe", "softmax", "--streams", "2", "--every", "10", "--no-control"},
       }) {
    expect_accepted(arguments);
  }
}

TEST(SpecgenCommandLine, config_comes_before_or_after_the_command) {
  for (const Arguments& arguments :
       {Arguments{"--config", "a.toml", "doctor"}, Arguments{"doctor", "--config=a.toml"}}) {
    auto parsed = parse_specgen(arguments);
    ASSERT_TRUE(parsed.has_value());
    EXPECT_EQ(parsed->context.config, "a.toml");
  }
  EXPECT_FALSE(parse_specgen(Arguments{"doctor"})->context.config.has_value());
}

TEST(SpecgenCommandLine, an_unknown_command_is_answered_with_the_nearest) {
  Error error = error_of({"docter", "--json"});
  EXPECT_EQ(error.context, "unknown command 'docter'; did you mean 'doctor'?");
  EXPECT_EQ(error.what_to_do(), "see `specgen --help`");
}

TEST(SpecgenCommandLine, an_unknown_flag_is_answered_with_the_nearest_of_its_command) {
  Error error = error_of({"doctor", "--jsn"});
  EXPECT_EQ(error.context, "unknown flag '--jsn'; did you mean '--json'?");
  EXPECT_EQ(error.what_to_do(), "see `specgen doctor --help`");
  EXPECT_EQ(error_of({"--confg=x", "doctor"}).context,
            "unknown flag '--confg'; did you mean '--config'?");
  EXPECT_EQ(error_of({"tasks", "--chek"}).context,
            "unknown flag '--chek'; did you mean '--check'?");
  EXPECT_EQ(error_of({"doctor", "-x"}).context, "unknown flag '-x'")
      << "any other letter would be as near";
}

TEST(SpecgenCommandLine, a_flag_before_its_command_is_shown_its_place) {
  EXPECT_EQ(error_of({"--clean"}).context,
            "'--clean' comes after its command: specgen runs --clean");
}

TEST(SpecgenCommandLine, too_many_or_too_few_arguments_and_values_are_errors) {
  EXPECT_EQ(error_of({"doctor", "doctor"}).context, "unexpected argument 'doctor' for 'doctor'");
  EXPECT_EQ(error_of({"tasks", "a", "b"}).context, "unexpected argument 'b' for 'tasks'");
  EXPECT_EQ(error_of({"new", "a", "b"}).context, "unexpected argument 'b' for 'new'");
  EXPECT_EQ(error_of({"--config"}).context, "'--config' needs a value");
  EXPECT_EQ(error_of({"doctor", "--json=yes"}).context, "'--json' takes no value");
  EXPECT_EQ(error_of({"--config", "a", "--config", "b", "doctor"}).context,
            "'--config' is given more than once");
  for (const Arguments& arguments :
       {Arguments{"eval"}, Arguments{"eval", "t"}, Arguments{"export", "runs/a"},
        Arguments{"report"}, Arguments{"new"}, Arguments{"author"}}) {
    EXPECT_EQ(error_of(arguments).what_to_do(), "see `specgen " + arguments[0] + " --help`");
  }
}

TEST(SpecgenCommandLine, values_that_are_not_of_their_type_are_errors) {
  for (const char* bad : {"5", "0s", "soon"}) {
    EXPECT_EQ(
        error_of({"doctor", "--time-limit", bad}).context,
        std::string("--time-limit: '") + bad + "' is not a duration, such as 500ms, 20s or 1m30s");
  }
  for (const char* bad : {"x", "-1", "1.5"}) {
    EXPECT_EQ(error_of({"simulate", "calm", "--seed", bad}).context,
              std::string("--seed: '") + bad + "' is not a valid number");
  }
  EXPECT_EQ(error_of({"author", "--listen", "h:0", "--mistakes", "nan"}).context,
            "--mistakes: 'nan' is not a number between 0 and 1");
  EXPECT_EQ(error_of({"triggers", "x", "--backend", "cud"}).context,
            "--backend: 'cud' is none of auto, cpu, cuda; did you mean 'cuda'?");
}

TEST(SpecgenCommandLine, help_is_of_the_program_or_of_a_command) {
  std::string top = run({"--help"}).output;
  EXPECT_EQ(run({"help"}).output, top);
  for (const char* part : {"\n  doctor ", "\n  eval ", "\n  tasks ", "\n  new ", "\n  help ",
                           "--config FILE", "example:", "documentation:", "130 interrupted"}) {
    EXPECT_TRUE(top.contains(part)) << part;
  }
  std::string doctor = run({"doctor", "-h"}).output;
  EXPECT_TRUE(doctor.contains("usage: specgen doctor [options]")) << doctor;
  EXPECT_EQ(run({"help", "doctor"}).output, doctor);
  EXPECT_EQ(error_of({"help", "docter"}).context,
            "unknown command 'docter'; did you mean 'doctor'?");
}

TEST(SpecgenCommandLine, without_a_command_prints_help_on_standard_error) {
  Printed printed = run({});
  EXPECT_EQ(printed.code, ExitCode::usage);
  EXPECT_EQ(printed.output, "");
  EXPECT_TRUE(printed.errors.contains("usage: ")) << printed.errors;
}

TEST(SpecgenCommandLine, version_is_one_line) {
  EXPECT_EQ(run({"--version"}).output, "specgen " + std::string(version()) + "\n");
}

TEST(EvalCommandLine, every_flag_is_accepted_and_may_come_before_the_positionals) {
  expect_accepted({"eval",       "t",
                   "c.cu",       "--device",
                   "cuda:1",     "--json",
                   "--set",      "BLOCK=256",
                   "--set",      "N=-3",
                   "--shape",    "batch=4",
                   "--counters", "--include",
                   "a",          "--include",
                   "b",          "--call-limit",
                   "500ms",      "--time-limit",
                   "2m",         "--require-sandbox",
                   "L3",         "--allow-unsandboxed",
                   "--secret",   "0123456789abcdef0123456789abcdef"});
  expect_accepted(
      {"eval", "--set", "A=1", "--shape", "n=2", "--include", "folder", "--json", "t", "c"});
}

TEST(EvalCommandLine, invalid_values_are_errors) {
  auto context = [](Arguments more) {
    more.insert(more.begin(), {"eval", "t", "c"});
    return error_of(more).context;
  };
  for (const char* bad : {"", "BLOCK", "BLOCK=", "=4", "BLOCK=4x", "BLOCK=0x4", "BLOCK=1.5",
                          "BLOCK=99999999999999999999"}) {
    EXPECT_EQ(context({"--set", bad}),
              std::string("--set: '") + bad + "' is not NAME=N, such as BLOCK=256");
  }
  EXPECT_TRUE(context({"--shape", "n"}).starts_with("--shape: 'n' is not NAME=N"));
  for (const char* bad : {"L0", "L4", "l3", "3", "none"}) {
    EXPECT_TRUE(context({"--require-sandbox", bad})
                    .starts_with(std::string("--require-sandbox: '") + bad + "' is none of"));
  }
  for (const char* bad :
       {"12", "0123456789ABCDEF0123456789ABCDEF", "0123456789abcdef0123456789abcdef0",
        "0x23456789abcdef0123456789abcdef"}) {
    EXPECT_EQ(context({"--secret", bad}), "--secret: it must be 32 digits of 0-9 and a-f") << bad;
  }
  EXPECT_TRUE(context({"--call-limit", "0s"}).starts_with("--call-limit: '0s' is not a duration"));
  EXPECT_EQ(context({"third"}), "unexpected argument 'third' for 'eval'");
  EXPECT_EQ(context({"--devise", "x"}), "unknown flag '--devise'; did you mean '--device'?");
}

TEST(EvalCommandLine, a_limit_on_the_sandbox_is_accepted_for_tests_and_not_in_help) {
  expect_accepted({"eval", "t", "c.cc", "--sandbox-at-most", "L1"});
  EXPECT_TRUE(error_of({"eval", "t", "c.cc", "--sandbox-at-most", "L9"})
                  .context.starts_with("--sandbox-at-most: 'L9' is none of"));
  EXPECT_FALSE(run({"eval", "--help"}).output.contains("at-most"));
}

TEST(OptimizeCommandLine, invalid_values_are_errors) {
  auto context = [](Arguments more) {
    more.insert(more.begin(), {"optimize", "softmax"});
    return error_of(more).context;
  };
  for (const char* flag : {"--token-budget", "--cost-budget"}) {
    for (const char* bad : {"0", "-1", "nan"}) {
      EXPECT_EQ(context({flag, bad}),
                std::string(flag) + ": '" + bad + "' is not a number above 0");
    }
  }
  EXPECT_TRUE(context({"--time-budget", "0s"}).starts_with("--time-budget: '0s' is not"));
  EXPECT_TRUE(context({"--iterations", "-3"}).starts_with("--iterations: '-3' is not"));
  EXPECT_TRUE(context({"--max-tokens", "9"}).starts_with("--max-tokens: '9' is not"));
  EXPECT_TRUE(context({"--shadow", "2"}).starts_with("--shadow: '2' is not"));
  EXPECT_TRUE(context({"--thinkers", "0"}).starts_with("--thinkers: '0' is not"));
  EXPECT_TRUE(context({"--iterations", "0"}).contains("never end"));
  EXPECT_EQ(context({"--kv-listen", "h:1"}), "--kv-listen requires --kv");
  EXPECT_EQ(error_of({"optimize"}).context, "no task is named");
  EXPECT_TRUE(context({"--resume", "r"}).contains("has its tasks"));
  EXPECT_TRUE(error_of({"probe", "softmax", "--every", "80"}).context.starts_with("--every: '80'"));
}

TEST(KvCommandLine, config_takes_a_model_or_a_shape_or_bytes) {
  expect_accepted({"kv", "config", "--engine", "vllm", "--node", "a:1", "--model", "Qwen3-8B"});
  expect_accepted({"kv", "config", "--engine", "sglang", "--layers", "32", "--kv-heads", "8",
                   "--head-dim", "128", "--dtype", "fp8", "--prefill", "12000", "--tp", "4"});
  auto context = [](Arguments more) {
    more.insert(more.begin(), {"kv", "config", "--engine", "vllm"});
    return error_of(more).context;
  };
  EXPECT_EQ(error_of({"kv", "config"}).context,
            "kv config needs --engine vllm, sglang or llamacpp");
  EXPECT_TRUE(context({"--layers", "32"}).contains("a shape is"));
  EXPECT_TRUE(context({"--model", "Qwen3-8B", "--bytes-per-token", "9"}).contains("one of"));
  EXPECT_TRUE(context({"--prefill", "0"}).contains("above 0"));
  EXPECT_TRUE(context({"--tp", "0"}).starts_with("--tp"));
  EXPECT_TRUE(context({"--node", "a:1", "--node", "b:1"}).contains("one --node"));
}

TEST(KvCommandLine, a_gateway_needs_an_address_and_nodes) {
  expect_accepted({"kv", "gateway", "--listen", "127.0.0.1:0", "--node", "a:1,weight=2", "--node",
                   "b:1", "--threads", "3"});
  EXPECT_TRUE(error_of({"kv", "gateway", "--listen", "x:1"}).context.contains("at least one"));
  EXPECT_TRUE(error_of({"kv", "gateway", "--node", "x:1"}).context.contains("--listen"));
}

TEST(KvCommandLine, stats_are_of_one_node) {
  expect_accepted({"kv", "stats", "--node", "unix:/run/kv"});
  EXPECT_TRUE(error_of({"kv", "stats"}).context.contains("one --node"));
}

TEST(KvCommandLine, an_unknown_action_is_answered_with_the_nearest) {
  EXPECT_TRUE(error_of({"kv", "cofnig"}).context.contains("did you mean 'config'?"));
  EXPECT_TRUE(run({"kv", "--help"}).output.contains("specgen kv gateway"));
}

TEST(CompareCommandLine, in_virtual_time_refuses_options_of_real_devices) {
  for (const Arguments& more : {Arguments{"--tasks", "softmax"}, Arguments{"--pace", "600"},
                                Arguments{"--devices", "auto"}, Arguments{"--over-http"}}) {
    Arguments arguments{"compare", "--virtual"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    Error error = error_of(arguments);
    EXPECT_TRUE(error.context.starts_with(more[0])) << error.text();
    EXPECT_TRUE(error.advice.contains("--virtual")) << error.text();
  }
}

TEST(CompareCommandLine, on_devices_refuses_a_scenario) {
  EXPECT_TRUE(error_of({"compare", "--scenario", "paper-glm"}).context.starts_with("--scenario"));
}

TEST(CompareCommandLine, refuses_a_page_that_cannot_be_written_before_any_work) {
  TemporaryFolder folder = TemporaryFolder::make().value();
  Error error = error_of(
      {"compare", "--virtual", "--html", (folder.path() / "not-there" / "page.html").string()});
  EXPECT_TRUE(error.advice.contains("not-there, or name a file")) << error.text();
  EXPECT_TRUE(error_of({"compare", "--virtual", "--html", folder.path().string()})
                  .context.contains("it is a folder"));
}

TEST(CompareCommandLine, help_has_the_defaults_of_virtual_time_and_of_devices) {
  std::string text = run({"compare", "--help"}).output;
  EXPECT_TRUE(text.contains("the scenario's in virtual time, 6 on devices")) << text;
  EXPECT_TRUE(text.contains("specgen-comparison on devices")) << text;
}

}  // namespace
}  // namespace specgen
