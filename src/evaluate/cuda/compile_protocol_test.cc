#include "evaluate/cuda/compile_protocol.h"

#include <gtest/gtest.h>

#include "evaluate/cuda/toolchain.h"

namespace specgen {
namespace {

TEST(CompileProtocol, requests_and_answers_survive_encoding) {
  CompileRequest request{.source = "// \"quotes\"\n\x01 and \xc3\xa4",
                         .architecture = "sm_90a",
                         .defines = {{"BLOCK", "128"}},
                         .name_expressions = {"k<128, float>"},
                         .include_folders = {"/somewhere/include"}};
  auto read = parse_compile_request(encode(request));
  ASSERT_TRUE(read) << read.error().text();
  EXPECT_EQ(read->source, request.source);
  EXPECT_EQ(read->architecture, request.architecture);
  EXPECT_EQ(read->defines, request.defines);
  EXPECT_EQ(read->name_expressions, request.name_expressions);
  EXPECT_EQ(read->include_folders, request.include_folders);

  CompileAnswer answer{.ok = true, .log = "warning", .lowered_names = {{"k<1>", "_Z1kILi1EEv"}}};
  auto parsed = parse_compile_answer(encode(answer));
  ASSERT_TRUE(parsed) << parsed.error().text();
  EXPECT_TRUE(parsed->ok);
  EXPECT_EQ(parsed->log, answer.log);
  EXPECT_EQ(parsed->lowered_names, answer.lowered_names);
}

TEST(CompileProtocol, hostile_answers_are_errors) {
  for (const char* text :
       {"", "[]", "7", "{", "null", R"({"ok":true})", R"({"ok":true,"lowered_names":[]})",
        R"({"ok":true,"lowered_names":{"k":7}})"}) {
    EXPECT_FALSE(parse_compile_answer(text)) << text;
  }
  for (const char* text : {"", "[]", R"({"source":"x"})", R"({"architecture":"sm_80"})"}) {
    EXPECT_FALSE(parse_compile_request(text)) << text;
  }
}

TEST(CompileProtocol, a_log_is_stripped_of_folders_and_shortened) {
  EXPECT_EQ(strip_compile_log("/usr/local/cuda/include/cuda_fp16.hpp(12): error: a / b\n"
                              "candidate.cu(3): error: x\n\n",
                              20),
            "cuda_fp16.hpp(12): error: a / b\ncandidate.cu(3): error: x\n");
  EXPECT_EQ(strip_compile_log("a\nb\nc\n", 1), "a\n(2 more lines)\n");
  EXPECT_LT(strip_compile_log(std::string(100'000, 'x'), 20).size(), 500U);
  EXPECT_EQ(strip_compile_log("in \"/tmp/secret/x.h\", 1/2 and //y", 20),
            "in \"x.h\", 1/2 and //y\n");
}

TEST(CompileProtocol, the_line_is_that_of_the_first_error_in_the_candidate) {
  EXPECT_EQ(first_cuda_error_line("candidate.cu(2): warning #1: w\n"
                                  "cuda_fp16.h(9): error: e\n"
                                  "candidate.cu(7): error: e\ncandidate.cu(8): error: e\n"),
            7);
  EXPECT_EQ(first_cuda_error_line("ptxas error: too much shared data\n"), 0);
  EXPECT_EQ(first_cuda_error_line("candidate.cu(99999999999999999999): error: e\n"), 0);
  EXPECT_EQ(first_cuda_error_line("candidate.cu(): error"), 0);
}

TEST(CompileFinding, every_end_of_a_compilation_has_a_message) {
  Duration limit = std::chrono::seconds(30);
  EXPECT_TRUE(judge_compilation({.answer = {.ok = true}}, limit).ok());
  Finding slow = judge_compilation({.end = Compilation::End::too_slow}, limit);
  EXPECT_EQ(slow.verdict, Verdict::compile_error);
  EXPECT_EQ(slow.evidence.text, "the compiler took longer than 30s");
  Finding crashed = judge_compilation(
      {.end = Compilation::End::crashed, .report = "signal 11 (Segmentation fault)"}, limit);
  EXPECT_NE(crashed.evidence.text.find("signal 11"), std::string::npos);
  Finding failed = judge_compilation({.answer = {.log = "candidate.cu(4): error: no"}}, limit);
  EXPECT_EQ(failed.verdict, Verdict::compile_error);
  EXPECT_EQ(failed.evidence.line, 4);
}

}  // namespace
}  // namespace specgen
