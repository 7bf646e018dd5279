// `specgen eval` as a user and as a hostile user meet it: verdicts, exit codes, what is on which
// stream, and that nothing stays behind.

#include <fcntl.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <algorithm>
#include <boost/json.hpp>
#include <set>

#include "base/json.h"
#include "evaluate/task/cases.h"
#include "support/program_fixture.h"

namespace specgen {
namespace {

using namespace std::chrono_literals;
using Arguments = std::vector<std::string>;

struct Judged {
  Finished finished;
  Json json;  // null if there is none
  int code() const { return finished.exit.code; }
  std::string verdict() const { return text_at(json, "verdict"); }
  const Json& evidence() const { return json.at("evidence"); }
  std::string why() const { return finished.output + finished.error_output; }
};

std::size_t count_of(std::string_view text, std::string_view part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != std::string_view::npos;
       at = text.find(part, at + 1)) {
    ++count;
  }
  return count;
}

class Eval : public testing::Test {
 protected:
  Eval() { host_.write("small", task_); }

  Judged eval(Arguments arguments, const std::string& task = "small") {
    arguments.insert(arguments.begin(), {SPECGEN_BINARY, "eval", task});
    arguments.emplace_back("--json");
    Judged judged{host_.run(std::move(arguments)), {}};
    if (auto json = parse_json(judged.finished.output)) judged.json = std::move(*json);
    return judged;
  }
  Judged eval_source(std::string_view source, Arguments more = {}) {
    more.insert(more.begin(), host_.write("candidate.cc", source));
    return eval(std::move(more));
  }
  // For tests of what only an ok evaluation has: on a busy machine a timing can be unstable.
  Judged eval_until_stable(std::string_view source, Arguments more = {}) {
    Judged judged = eval_source(source, more);
    for (int tries = 1; tries < 4 && judged.verdict() == "unstable_timing"; ++tries) {
      judged = eval_source(source, more);
    }
    return judged;
  }
  // Judges the baseline of a task with a fault.
  Finished eval_fault(const SmallTask& task, Arguments more = {}) {
    host_.write("faulty", task);
    Arguments arguments{SPECGEN_BINARY, "eval", "faulty",
                        host_.write("candidate.cc", task_.baseline)};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return host_.run(std::move(arguments));
  }
  void expect_fault(const SmallTask& task, std::string_view text) {
    Finished finished = eval_fault(task);
    EXPECT_EQ(finished.exit.code, 2) << finished.output << finished.error_output;
    EXPECT_EQ(finished.output, "");
    EXPECT_NE(finished.error_output.find("error E601"), std::string::npos) << finished.error_output;
    EXPECT_NE(finished.error_output.find(text), std::string::npos) << finished.error_output;
  }

  SmallTask task_;
  ProgramFixture host_{SPECGEN_TEST_CACHE};
};

TEST_F(Eval, a_baseline_is_ok_and_about_as_fast_as_itself) {
  Judged judged = eval_until_stable(task_.baseline);
  ASSERT_EQ(judged.verdict(), "ok") << judged.why();
  EXPECT_EQ(judged.code(), 0);
  EXPECT_EQ(judged.finished.error_output, "") << "progress without a terminal";
  for (const char* key :
       {"schema", "schema_version", "task", "device", "device_name", "verdict", "evidence",
        "speedup", "vendor_ratio", "peak_fraction", "cases", "tunables", "profile", "sandbox",
        "trust", "marks", "timings_ms", "feedback"}) {
    EXPECT_TRUE(member_at(judged.json, key)) << key;
  }
  EXPECT_EQ(text_at(judged.json, "schema"), "specgen.evaluation");
  EXPECT_EQ(text_at(judged.json, "task"), "small");
  EXPECT_EQ(text_at(judged.json, "trust"), "full");
  const Json& speedup = judged.json.at("speedup");
  EXPECT_LE(number_at(speedup, "low"), number_at(speedup, "median"));
  EXPECT_LE(number_at(speedup, "median"), number_at(speedup, "high"));
  EXPECT_LE(number_at(speedup, "low"), 1.05);
  EXPECT_GE(number_at(speedup, "high"), 0.95);
  const Json& timings = judged.json.at("timings_ms");
  for (const char* key : {"compile", "validate", "profile"}) {
    EXPECT_GT(number_at(timings, key), 0) << key;
    EXPECT_LT(number_at(timings, key), number_at(timings, "total")) << key;
  }
  EXPECT_EQ(judged.json.at("cases").as_array().size(), 4U) << "two public, two hidden";
  const Json& facts = judged.json.at("profile").at("facts");
  EXPECT_EQ(facts.at("counters").is_null(), !text_at(facts, "counters_note").empty())
      << "what was counted, or why nothing was";
}

TEST_F(Eval, a_variant_is_named_behind_the_task) {
  host_.write("candidate.cc", task_.baseline);
  Judged judged = eval({"candidate.cc"}, "small:f64");
  EXPECT_EQ(text_at(judged.json, "task"), "small:f64") << judged.why();
  EXPECT_EQ(eval({"candidate.cc"}, "small:f16").code(), 2);
}

TEST_F(Eval, a_compile_error_has_its_line) {
  Judged judged = eval_source("using T = SPECGEN_DTYPE;\n\nvoid oops() { missing(); }\n");
  EXPECT_EQ(judged.code(), 1);
  EXPECT_EQ(judged.verdict(), "compile_error");
  EXPECT_EQ(int_at(judged.evidence(), "line"), 3);
  EXPECT_NE(text_at(judged.evidence(), "text").find("missing"), std::string::npos);
  EXPECT_TRUE(judged.json.at("speedup").is_null());
  EXPECT_TRUE(judged.json.at("profile").is_null());
}

TEST_F(Eval, what_is_not_a_candidate_is_rejected_and_never_a_harness_error) {
  std::string garbage;
  for (unsigned i = 0; i < 4000; ++i) garbage += static_cast<char>(i * 2654435761U >> 23);
  struct Row {
    std::string source;
    std::string_view reason;
  };
  for (const Row& row :
       {Row{"", "the source is empty"}, Row{" \n\t\n", "the source is empty"},
        Row{std::string(10'000'000, '/'), "the limit is 1 MiB"}, Row{garbage, "the source is not"},
        Row{std::string("a\0b", 3), "NUL"}, Row{"// caf\xe9\n" + task_.baseline, "not UTF-8"},
        Row{"int other() { return 1; }\n", "it does not define the function 'small'"},
        Row{"static int calls;\n" + task_.with("y[0] = T(calls++);"), "calls"},
        Row{"// specgen:launch small<<<1, 1>>>(x, b, y, n, a)\n" + task_.baseline,
            "specgen:launch is for CUDA"},
        Row{"#include \"/etc/passwd\"\n" + task_.baseline, "passwd"}}) {
    Judged judged = eval_source(row.source);
    EXPECT_EQ(judged.code(), 1) << row.reason;
    EXPECT_EQ(judged.verdict(), "rejected") << row.reason << "\n" << judged.why();
    EXPECT_NE(text_at(judged.evidence(), "text").find(row.reason), std::string::npos)
        << judged.why();
  }
}

TEST_F(Eval, a_rejection_names_the_line_of_its_directive) {
  Judged judged = eval_source("\n\n// specgen:launch small<<<1, 1>>>(x)\n" + task_.baseline);
  EXPECT_EQ(int_at(judged.evidence(), "line"), 3) << judged.why();
}

TEST_F(Eval, what_goes_wrong_when_it_runs_has_a_verdict_of_its_own) {
  struct Row {
    std::string_view first;
    std::string_view verdict;
  };
  for (const Row& row :
       {Row{"__builtin_trap();", "crash"}, Row{"y[n] = 1; y[n + 4096] = 1;", "out_of_bounds"},
        Row{"const_cast<T*>(x)[0] = 7;", "input_modified"}, Row{"if (n > 0) return;", "unwritten"},
        Row{"n -= 1;", "unwritten"}, Row{"a = 2.6;", "wrong"}}) {
    Judged judged = eval_source(task_.with(row.first));
    EXPECT_EQ(judged.code(), 1);
    EXPECT_EQ(judged.verdict(), row.verdict) << judged.why();
    EXPECT_EQ(text_at(judged.evidence(), "case"), "n=503") << judged.why();
  }
}

TEST_F(Eval, cases_after_a_crash_read_not_run) {
  const std::string source = task_.with("if (n > 503) __builtin_trap();");
  Judged judged = eval_source(source);
  EXPECT_EQ(judged.verdict(), "crash") << judged.why();
  std::vector<std::string> statuses;
  for (const Json& one : judged.json.at("cases").as_array()) {
    statuses.push_back(text_at(one, "status"));
  }
  EXPECT_EQ(statuses, (Arguments{"passed", "failed", "not run", "not run"}));
  Finished printed =
      host_.run({SPECGEN_BINARY, "eval", "small", host_.write("candidate.cc", source)});
  EXPECT_EQ(count_of(printed.output, " not run\n"), 2U) << printed.output;
  EXPECT_EQ(count_of(printed.output, " checked\n"), 1U) << printed.output;
}

TEST_F(Eval, a_wrong_signature_is_a_compile_error_that_says_what_is_expected) {
  Judged judged = eval_source(
      "using T = SPECGEN_DTYPE;\nextern \"C\" void small(const T* x, T* y, int64_t n) "
      "{ for (int64_t i = 0; i < n; ++i) y[i] = x[i]; }\n");
  EXPECT_EQ(judged.verdict(), "compile_error") << judged.why();
  EXPECT_EQ(int_at(judged.evidence(), "line"), 2) << judged.why();
  EXPECT_TRUE(text_at(judged.evidence(), "text")
                  .ends_with("Expected: extern \"C\" void small(const float* x, const float* b, "
                             "float* y, int64_t n, double a, void* scratch, int tid, int "
                             "nthreads);"))
      << judged.why();
}

TEST_F(Eval, a_candidate_that_does_not_end_is_ended) {
  Judged judged =
      eval_source(task_.with("for (volatile int i = 0; i < 1;) {}"), {"--call-limit", "300ms"});
  EXPECT_EQ(judged.verdict(), "timeout") << judged.why();
  EXPECT_EQ(judged.code(), 1);
}

TEST_F(Eval, a_path_that_is_not_a_file_is_bad_usage) {
  for (const char* path : {"nowhere.cc", "small"}) {
    Judged judged = eval({path});
    EXPECT_EQ(judged.code(), 2);
    EXPECT_EQ(judged.finished.output, "");
    EXPECT_NE(judged.finished.error_output.find("error E202"), std::string::npos);
  }
  host_.write("candidate.cc", task_.baseline);
  for (const char* task : {"nowhere", "candidate.cc", "sm\xff"}) {
    EXPECT_EQ(eval({"candidate.cc"}, task).code(), 2) << task;
  }
}

TEST_F(Eval, a_malformed_task_is_the_tasks_fault_with_file_and_line) {
  auto changed = [&](std::string_view from, std::string_view to) {
    SmallTask task = task_;
    task.toml = replaced(task.toml, from, to);
    return task;
  };
  expect_fault(changed("[check]", "[check"), "faulty/task.toml:");
  expect_fault(changed("{ n = 503 }", "{ m = 503 }"), "'m' is not an axis");
  expect_fault(changed("shape = [\"n\"]", "shape = [\"n * n * n * n * n\"]"), "task.toml:");
  expect_fault(changed("shape = [\"n\"]", "shape = [\"9223372036854775807 * n\"]"), "task.toml:");
  expect_fault(changed("shape = [\"n\"]", "shape = [\"n - 503\"]"), "zero-size shape of x");
  expect_fault(changed("{ n = 503 }", "{ n = 0 }"), "axis n = 0");
  expect_fault(changed("{ n = 503 }", "{ n = -1 }"), "axis n = -1");
  expect_fault(changed("weight = 1.0", "weight = 0.0"), "no case is timed");
  expect_fault(changed("reduction", "reductoin"), "reductoin");
}

TEST_F(Eval, a_reference_that_is_missing_or_broken_is_the_tasks_fault) {
  auto with_reference = [&](std::string reference) {
    SmallTask task = task_;
    task.reference = std::move(reference);
    return task;
  };
  expect_fault(with_reference(""), "there is no reference.cc");
  expect_fault(with_reference("syntax error\n"), "reference.cc:1");
  expect_fault(with_reference(replaced(task_.reference, "void reference", "void other")),
               "undefined symbol: reference");
  expect_fault(
      with_reference(replaced(task_.reference, "y[i] = a", "*(volatile int*)8 = 1; y[i] = a")),
      "reference.cc on n=503");
  expect_fault(with_reference(replaced(task_.reference, "y[i] = a", "__builtin_trap(); y[i] = a")),
               "reference.cc on n=503");
}

TEST_F(Eval, a_baseline_that_is_wrong_or_missing_is_the_tasks_fault) {
  SmallTask task = task_;
  task.baseline = task_.with("a += 1;");
  expect_fault(task, "the cpu baseline is judged wrong on n=503");
  task.baseline = "no C++";
  expect_fault(task, "the baseline is refused (compile_error)");
  std::filesystem::remove_all(host_.folder.path() / "faulty");
  task.baseline = "";
  expect_fault(task, "neither a baseline.cc nor a baseline.cu");
}

TEST_F(Eval, a_reference_that_never_ends_is_ended_by_the_time_limit_with_all_it_has_started) {
  SmallTask task = task_;
  task.reference =
      replaced(task.reference, "y[i] = a", "for (volatile int k = 0; k < 1;) {} y[i] = a");
  host_.write("faulty", task);
  host_.write("candidate.cc", task_.baseline);
  auto process = host_.fixture.processes.spawn(host_.command(
      {SPECGEN_BINARY, "eval", "faulty", "candidate.cc", "--json", "--time-limit", "3s"}));
  ASSERT_TRUE(process.has_value());
  std::vector<LivingProcess> children;
  for (int i = 0; i < 400 && children.size() < 2; ++i) {
    host_.rest();
    children = family_of(process->pid());
  }
  ASSERT_GE(children.size(), 2U);
  Exit exit = host_.fixture.run(process->wait());
  EXPECT_EQ(exit.code, 1) << to_string(exit);
  for (const LivingProcess& child : children)
    EXPECT_FALSE(is_alive(child.pid)) << child.command_line;
}

TEST_F(Eval, a_device_that_is_not_there_is_the_environments_fault) {
  for (const char* device : {"cpu:4096-4096", "cuda:99", "tpu:0", "cpu:x", ""}) {
    Judged judged = eval_source(task_.baseline, {"--device", device});
    EXPECT_EQ(judged.code(), 3) << device << "\n" << judged.why();
    EXPECT_EQ(judged.finished.output, "");
  }
}

TEST_F(Eval, a_compiler_that_is_not_there_is_the_environments_fault) {
  host_.write("specgen.toml", "[tools]\ncompiler = \"no-such-compiler\"\n");
  Judged judged = eval_source(task_.baseline);
  EXPECT_EQ(judged.code(), 3) << judged.why();
  EXPECT_NE(judged.finished.error_output.find("E205"), std::string::npos) << judged.why();
}

TEST_F(Eval, words_that_mean_nothing_are_bad_usage) {
  for (const Arguments& arguments :
       {Arguments{"--require-sandbox", "L9"}, Arguments{"--secret", "12"},
        Arguments{"--set", "UNROLL"}, Arguments{"--call-limit", "soon"},
        Arguments{"--shape", "n=4"}, Arguments{"--jsno"}}) {
    Judged judged = eval_source(task_.baseline, arguments);
    EXPECT_EQ(judged.code(), 2) << arguments[0] << "\n" << judged.why();
    EXPECT_EQ(judged.finished.output, "");
  }
}

TEST_F(Eval, the_winning_tunables_are_named) {
  // The default does its work twenty times over.
  std::string source = "// specgen:tune UNROLL = 1, 4\n" + task_.slowed("UNROLL == 1 ? 160000 : 1");
  Judged judged = eval_until_stable(source);
  ASSERT_EQ(judged.verdict(), "ok") << judged.why();
  EXPECT_EQ(judged.json.at("tunables"), (Json{{"UNROLL", 4}})) << judged.why();
}

TEST_F(Eval, a_tunable_that_does_not_exist_is_the_candidates_fault) {
  std::string source = "// specgen:tune UNROLL = 1, 4\n" + task_.baseline;
  for (const char* set : {"UNROL=1", "UNROLL=3"}) {
    Judged judged = eval_source(source, {"--set", set});
    EXPECT_EQ(judged.code(), 1);
    EXPECT_EQ(judged.verdict(), "rejected") << judged.why();
    EXPECT_NE(text_at(judged.evidence(), "text").find("UNROL"), std::string::npos);
  }
}

// Every number in a text.
std::set<std::string> numbers_in(std::string_view text) {
  std::set<std::string> numbers;
  std::string number;
  for (char c : text) {
    if (c >= '0' && c <= '9') {
      number += c;
    } else if (!number.empty()) {
      numbers.insert(std::exchange(number, {}));
    }
  }
  return numbers;
}

TEST_F(Eval, a_secret_repeats_the_hidden_cases_and_their_shapes_are_never_revealed) {
  auto task = load_task((host_.folder.path() / "small").string());
  ASSERT_TRUE(task.has_value()) << task.error().text();
  auto hidden = hidden_cases(*task, Secret{{0x0123456789abcdef, 0x0011223344556677}});
  ASSERT_TRUE(hidden.has_value() && hidden->size() == 2);
  std::string length = std::to_string((*hidden)[1].axes.at("n"));
  // Wrong on that length alone, and at its end, whose index would reveal it as well.
  std::string source = replaced(task_.baseline, "factor * x[i] + b[i];",
                                "factor * x[i] + b[i];\n  if (n == " + length + ") y[n - 1] += 9;");
  const std::string same = "0123456789abcdef0011223344556677", other = std::string(32, '7');
  for (int repeat = 0; repeat < 2; ++repeat) {
    Judged judged = eval_source(source, {"--secret", same});
    EXPECT_EQ(judged.verdict(), "wrong") << judged.why();
    EXPECT_EQ(text_at(judged.evidence(), "case"), (*hidden)[1].title());
    EXPECT_TRUE(judged.evidence().at("worst").is_null()) << judged.why();
    std::set<std::string> revealed = numbers_in(judged.why());
    EXPECT_FALSE(revealed.contains(length)) << judged.why();
    EXPECT_FALSE(revealed.contains(std::to_string(std::stoi(length) - 1))) << judged.why();
    EXPECT_FALSE(revealed.contains(std::to_string((*hidden)[0].axes.at("n")))) << judged.why();
    EXPECT_EQ(judged.why().find(same), std::string::npos) << "the secret itself";
  }
  EXPECT_NE(eval_source(source, {"--secret", other}).verdict(), "wrong");
}

TEST_F(Eval, an_interrupt_ends_it_with_everything_it_has_started) {
  host_.write("candidate.cc", task_.with("for (volatile int i = 0; i < 1;) {}"));
  auto process = host_.fixture.processes.spawn(
      host_.command({SPECGEN_BINARY, "eval", "small", "candidate.cc", "--call-limit", "60s"}));
  ASSERT_TRUE(process.has_value());
  std::vector<LivingProcess> children;
  auto executes = [](const LivingProcess& each) {
    return each.command_line.find("internal-cpu-executor") != std::string::npos;
  };
  for (int i = 0; i < 6000 && std::ranges::count_if(children, executes) < 2; ++i) {
    host_.rest();
    children = family_of(process->pid());
  }
  ASSERT_GE(std::ranges::count_if(children, executes), 2);
  Time start = host_.fixture.loop.now();
  ::kill(process->pid(), SIGINT);
  Exit exit = host_.fixture.run(process->wait());
  EXPECT_EQ(exit.signal, SIGINT) << to_string(exit);
  EXPECT_LT(host_.fixture.loop.now() - start, 10s) << "it waits for the candidate";
  for (const LivingProcess& child : children)
    EXPECT_FALSE(is_alive(child.pid)) << child.command_line;
}

TEST_F(Eval, two_at_once_take_turns_and_both_succeed) {
  host_.write("candidate.cc", task_.baseline);
  auto both = [](ProgramFixture& host) -> Task<std::vector<std::string>> {
    std::vector<std::string> verdicts;
    std::vector<Process> running;
    for (int i = 0; i < 2; ++i) {
      auto process = host.fixture.processes.spawn(
          host.command({SPECGEN_BINARY, "eval", "small", "candidate.cc", "--json"}));
      SG_ASSERT(process.has_value(), "it does not start");
      running.push_back(std::move(*process));
    }
    for (Process& process : running) {
      std::string output;
      std::array<char, 4096> bytes;
      while (true) {
        std::size_t n = (co_await process.output->read_some(bytes)).value_or(0);
        if (n == 0) break;
        output.append(bytes.data(), n);
      }
      auto json = parse_json(output);
      verdicts.push_back(json ? text_at(*json, "verdict") : output);
    }
    co_return verdicts;
  };
  for (const std::string& verdict : host_.fixture.run(both(host_))) {
    // On two cores one compiles while the other is timed.
    EXPECT_TRUE(verdict == "ok" || verdict == "unstable_timing") << verdict;
  }
}

TEST_F(Eval, progress_goes_to_the_terminal_and_never_into_the_document) {
  int terminal = ::posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC | O_NONBLOCK);
  ASSERT_GE(terminal, 0);
  Fd owned(terminal);
  ASSERT_EQ(::grantpt(terminal), 0);
  ASSERT_EQ(::unlockpt(terminal), 0);
  host_.write("candidate.cc", task_.baseline);
  Finished finished =
      host_.run({"/bin/sh", "-c", "exec \"$0\" eval small candidate.cc --json 2> \"$1\"",
                 SPECGEN_BINARY, ::ptsname(terminal)});
  EXPECT_TRUE(parse_json(finished.output).has_value()) << finished.output;
  EXPECT_EQ(finished.output.find('\x1b'), std::string::npos);
  std::array<char, 1 << 16> seen{};
  std::string shown;
  // The kernel hands out what was written in pieces; after the last one nothing is written.
  for (ssize_t n = 0; (n = ::read(terminal, seen.data(), seen.size())) > 0;) {
    shown.append(seen.data(), static_cast<std::size_t>(n));
  }
  EXPECT_NE(shown.find("checking 1 of "), std::string::npos) << shown;
  EXPECT_TRUE(shown.ends_with("\r\x1b[K")) << "the line is wiped at the end: " << shown;
}

TEST_F(Eval, a_reader_that_closes_its_end_is_not_a_crash) {
  host_.write("candidate.cc", "");
  auto process = host_.fixture.processes.spawn(
      host_.command({SPECGEN_BINARY, "eval", "small", "candidate.cc", "--json"}));
  ASSERT_TRUE(process.has_value());
  process->output.reset();
  Exit exit = host_.fixture.run(process->wait());
  EXPECT_EQ(exit.signal, 0) << to_string(exit);
  EXPECT_EQ(exit.code, 1);
}

TEST_F(Eval, without_json_it_is_text_for_a_person) {
  Finished finished = host_.run(
      {SPECGEN_BINARY, "eval", "small", host_.write("candidate.cc", task_.with("a = 3;"))});
  EXPECT_EQ(finished.exit.code, 1);
  EXPECT_TRUE(finished.output.starts_with("small on cpu:0 (")) << finished.output;
  EXPECT_NE(finished.output.find("\n  wrong\n  wrong: y["), std::string::npos) << finished.output;
  EXPECT_EQ(finished.output.find('\x1b'), std::string::npos) << "colour without a terminal";
}

}  // namespace
}  // namespace specgen
