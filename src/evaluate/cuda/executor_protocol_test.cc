#include "evaluate/cuda/executor_protocol.h"

#include <gtest/gtest.h>

#include "evaluate/cuda/driver_api.h"
#include "evaluate/cuda/fault_finding.h"

namespace specgen {
namespace {

template <class T>
T round_trip(T request) {
  auto read = parse_executor_request(encode(ExecutorRequest{std::move(request)}));
  EXPECT_TRUE(read) << read.error().text();
  if (!read || !std::holds_alternative<T>(*read)) {
    ADD_FAILURE() << "parsed as another kind";
    return {};
  }
  return std::get<T>(*read);
}

TEST(ExecutorProtocol, requests_survive_encoding) {
  round_trip(LoadRequest{});
  EXPECT_EQ(round_trip(ClearRequest{.keep = {3, 0}}).keep, (std::vector<std::size_t>{3, 0}));
  EXPECT_EQ(round_trip(CanaryRequest{.numbers = 12}).numbers, 12U);
  RunRequest run = round_trip(RunRequest{.who = Who::candidate, .set = 3});
  EXPECT_EQ(run.who, Who::candidate);
  EXPECT_EQ(run.set, 3U);
  TimeRequest time = round_trip(
      TimeRequest{.who = Who::baseline, .sets = {0, 2, 1}, .flush_bytes = 120'000'000'000});
  EXPECT_EQ(time.sets, (std::vector<std::size_t>{0, 2, 1}));
  EXPECT_EQ(time.flush_bytes, 120'000'000'000U);
  ImportRequest import = round_trip(
      ImportRequest{.pieces = {{.bytes = 2 << 20, .writable = true}, {.bytes = 4 << 20}}});
  ASSERT_EQ(import.pieces.size(), 2U);
  EXPECT_TRUE(import.pieces[0].writable);
  EXPECT_FALSE(import.pieces[1].writable);

  LayOutRequest layout;
  layout.tensors = {{{.piece = 1, .offset = 256, .bytes = 7}}, {}};
  layout.programs[0] = {.plan = "{}", .functions = {"_Z1kv"}, .scratch = {{}, {}}};
  layout.programs[1] = {.plan = "[]", .functions = {}, .scratch = {{{2, 0, 9}}, {}}};
  LayOutRequest read = round_trip(layout);
  ASSERT_EQ(read.tensors.size(), 2U);
  EXPECT_EQ(read.tensors[0][0].offset, 256U);
  EXPECT_EQ(read.programs[0]->functions, layout.programs[0]->functions);
  EXPECT_EQ(read.programs[1]->scratch[0][0].bytes, 9U);
}

TEST(ExecutorProtocol, a_baseline_may_run_elsewhere_and_a_candidate_may_not) {
  const LayOutRequest::Program here{.plan = "{}", .functions = {"_Z1kv"}, .scratch = {{}}};
  LayOutRequest layout;
  layout.tensors = {{}};
  layout.programs = {std::nullopt, here};
  LayOutRequest read = round_trip(layout);
  EXPECT_FALSE(read.programs[0]);
  ASSERT_TRUE(read.programs[1]);
  EXPECT_EQ(read.programs[1]->functions, here.functions);
  layout.programs = {here, std::nullopt};
  EXPECT_FALSE(parse_executor_request(encode(ExecutorRequest{layout})));
}

TEST(ExecutorProtocol, malformed_requests_are_errors) {
  for (const char* text :
       {"", "{}", "[]", R"({"do":"fly"})", R"({"do":"run"})", R"({"do":"run","who":"me","set":1})",
        R"({"do":"run","who":"candidate","set":-1})",
        R"({"do":"time","who":"candidate","sets":7,"flush_bytes":0})",
        R"({"do":"time","who":"candidate","sets":[-1],"flush_bytes":0})",
        R"({"do":"time","who":"candidate","sets":[1.5],"flush_bytes":0})", R"({"do":"import"})",
        R"({"do":"import","pieces":[{}]})", R"({"do":"lay_out","tensors":[],"programs":[]})",
        R"({"do":"lay_out","tensors":[[[1,2]]],"programs":[{},{}]})",
        R"({"do":"canary","numbers":99999999999})"}) {
    EXPECT_FALSE(parse_executor_request(text)) << text;
  }
}

TEST(ExecutorProtocol, scratch_must_be_given_for_every_set) {
  LayOutRequest layout;
  layout.tensors = {{}, {}};
  for (auto& program : layout.programs) program.emplace().scratch = {{}};
  EXPECT_FALSE(parse_executor_request(encode(ExecutorRequest{layout})));
}

TEST(ExecutorProtocol, answers_survive_encoding) {
  ExecutorAnswer answer{.ok = true,
                        .launch = 2,
                        .who = Who::baseline,
                        .fault = {.code = 700, .name = "N", .message = "W", .doing = "D"},
                        .wall_ns = 12.5,
                        .ns = {1, 2.5},
                        .kernels = {{.function = "k", .registers = 32}},
                        .sum = 0xfedcba9876543210};
  auto read = parse_executor_answer(encode(answer));
  ASSERT_TRUE(read) << read.error().text();
  EXPECT_TRUE(read->ok);
  EXPECT_EQ(read->launch, 2);
  EXPECT_EQ(read->who, Who::baseline);
  EXPECT_EQ(read->fault.text(), "D: N (700): W");
  EXPECT_EQ(read->wall_ns, 12.5);
  EXPECT_EQ(read->ns, answer.ns);
  EXPECT_EQ(read->kernels[0].registers, 32);
  EXPECT_EQ(read->sum, answer.sum);
}

TEST(ExecutorProtocol, answers_with_impossible_times_are_errors) {
  const std::string begin = R"({"ok":true,"who":"candidate","kernels":[],"ns":)";
  EXPECT_TRUE(parse_executor_answer(begin + "[1]}"));
  EXPECT_FALSE(parse_executor_answer(begin + "[-1]}"));
  EXPECT_FALSE(parse_executor_answer(begin + "[null]}"));
  EXPECT_FALSE(parse_executor_answer(begin + "[\"1\"]}"));
  EXPECT_FALSE(parse_executor_answer(begin + "7}"));
  for (const char* text : {"", "[]", "{}", R"({"ok":true})"}) {
    EXPECT_FALSE(parse_executor_answer(text)) << text;
  }
}

Directives with_a_launch_on_line(int line) {
  Directives directives;
  directives.launches.emplace_back().line = line;
  return directives;
}

TEST(FaultFinding, rejects_a_kernel_that_does_not_fit_its_launch_line_with_that_line) {
  Finding found =
      finding_of({.rejected = "kernel k takes 5 arguments, the launch line gives 4", .launch = 0},
                 with_a_launch_on_line(9));
  EXPECT_EQ(found.verdict, Verdict::rejected);
  EXPECT_EQ(found.evidence.line, 9);
}

TEST(FaultFinding, turns_driver_errors_into_verdicts) {
  auto verdict = [](int code, int launch) {
    return finding_of({.launch = launch, .fault = {.code = code, .name = "X", .doing = "run"}},
                      with_a_launch_on_line(4))
        .verdict;
  };
  EXPECT_EQ(verdict(kCudaIllegalAddress, -1), Verdict::out_of_bounds);
  EXPECT_EQ(verdict(kCudaIllegalAddress, 0), Verdict::out_of_bounds)
      << "reported by a later launch";
  EXPECT_EQ(verdict(kCudaMisalignedAddress, -1), Verdict::crash);
  EXPECT_EQ(verdict(kCudaLaunchFailed, -1), Verdict::crash);
  EXPECT_EQ(verdict(kCudaLaunchOutOfResources, 0), Verdict::rejected);
  EXPECT_EQ(verdict(kCudaInvalidValue, 0), Verdict::rejected);
  EXPECT_EQ(verdict(kCudaOutOfMemory, 0), Verdict::out_of_memory);
  EXPECT_EQ(verdict(999, -1), Verdict::crash);
  EXPECT_EQ(finding_of({.broken = "no set 7"}, {}).verdict, Verdict::harness_error);
  EXPECT_TRUE(finding_of({.ok = true}, {}).ok());
}

TEST(FaultFinding, names_no_line_for_a_missing_launch) {
  EXPECT_EQ(finding_of({.rejected = "r", .launch = 5}, with_a_launch_on_line(4)).evidence.line, 0);
}

}  // namespace
}  // namespace specgen
