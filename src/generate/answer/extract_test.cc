#include "generate/answer/extract.h"

#include <gtest/gtest.h>

#include "base/random.h"
#include "generate/answer/kernel_shape.h"

namespace specgen {
namespace {

using Reason = NoKernel::Reason;

const std::string kCpu =
    "#include <cstdint>\n"
    "// 'it's {' in words\n"
    "extern \"C\" void gelu(const float* x, float* y, int64_t n, void*, int tid, int nthreads) {\n"
    "  for (int64_t i = tid; i < n; i += nthreads) {\n"
    "    y[i] = x[i];\n"
    "  }\n"
    "}\n";
const std::string kCuda =
    "// specgen:launch gelu<<<ceildiv(n, 256), 256>>>(x, y, n)\n"
    "__global__ void __launch_bounds__(256) gelu(const float* x, float* y, int n) {\n"
    "  int i = blockIdx.x * 256 + threadIdx.x;\n"
    "  if (i < n) y[i] = x[i];\n"
    "}\n";
const std::string kPython =
    "import torch\n\nclass ModelNew(torch.nn.Module):\n    def forward(self, x):\n        return "
    "x\n";

std::string fenced(const std::string& code, const std::string& info = "cpp") {
  return "```" + info + "\n" + code + "```\n";
}

AnswerToRead answer_of(std::string_view text, std::string_view backend = "cpu") {
  AnswerToRead answer;
  answer.text = text;
  answer.backend = backend;
  return answer;
}

// The source, or the name of the reason.
std::string outcome(const AnswerToRead& answer) {
  auto kernel = extract_kernel(answer);
  if (kernel) return kernel->source;
  EXPECT_FALSE(kernel.error().explanation.empty());
  return std::string(name_of(kernel.error().reason));
}
std::string outcome(const std::string& text, std::string_view backend = "cpu") {
  return outcome(answer_of(text, backend));
}

TEST(Extract, a_fenced_kernel_with_prose_around_is_found) {
  EXPECT_EQ(outcome("Here it is:\n\n" + fenced(kCpu) + "\nIt vectorises."), kCpu);
  EXPECT_EQ(outcome("~~~~ c++ title=x\n" + kCpu + "~~~~"), kCpu);
  EXPECT_EQ(outcome(fenced(kCuda, "cuda"), "cuda"), kCuda);
}

TEST(Extract, a_model_asked_to_begin_with_code_may_begin_with_prose) {
  std::string text = "Here it is.\n\n```cpp\n" + kCpu + "```\n";
  auto kernel = extract_kernel({.text = text,
                                .finish = FinishReason::stop,
                                .backend = "cpu",
                                .parent = std::nullopt,
                                .answer_start = "```cpp\n",
                                .stops_at_fence = true});
  ASSERT_TRUE(kernel);
  EXPECT_EQ(kernel->source, kCpu);
}

TEST(Extract, of_several_blocks_the_last_complete_kernel_counts) {
  std::string other = kCpu + "// second\n";
  EXPECT_EQ(outcome("Before:\n" + fenced(kCpu) + "After:\n" + fenced(other) + "Build with\n" +
                    fenced("clang++ -O3 x.cc\n", "sh") + "where\n" + fenced("y[i] = x[i];\n")),
            other);
}

TEST(Extract, snippets_and_kernels_of_the_other_backend_are_not_kernels) {
  EXPECT_EQ(outcome(fenced("for (int i = 0; i < n; ++i) {}\n")), "no_kernel");
  EXPECT_EQ(outcome(fenced(kCuda), "cpu"), "no_kernel");
  EXPECT_EQ(outcome(fenced(kCpu), "cuda"), "no_kernel");
  EXPECT_EQ(outcome(fenced("extern \"C\" void gelu(const float* x);\n")), "no_kernel");
  EXPECT_EQ(outcome(fenced("// extern \"C\" void f() {}\nconst char* s = \"extern \";\n")),
            "no_kernel");
}

TEST(Extract, a_device_kernel_without_its_launch_line_is_not_a_kernel) {
  std::string no_launch = kCuda.substr(kCuda.find('\n') + 1);
  EXPECT_EQ(outcome(fenced(no_launch, "cuda"), "cuda"), "no_kernel");
  std::string launch = kCuda.substr(0, kCuda.find('\n') + 1);
  EXPECT_EQ(outcome(fenced(launch) + "and\n" + fenced(no_launch), "cuda"), "no_kernel")
      << "blocks are not joined";
}

TEST(Extract, a_model_class_is_a_kernel_for_either_backend) {
  auto kernel = extract_kernel(answer_of(fenced(kPython, "python"), "cuda"));
  ASSERT_TRUE(kernel);
  EXPECT_TRUE(kernel->is_python);
  EXPECT_EQ(kernel->source, kPython);
  EXPECT_EQ(outcome(fenced("class ModelNewer:\n  def forward(self): pass\n", "python")),
            "no_kernel");
}

TEST(Extract, a_kernel_with_elided_parts_is_the_last_resort) {
  std::string elided = kCpu;
  elided.insert(elided.find("  for"), "  // ... rest of the setup as before\n");
  EXPECT_EQ(outcome(fenced(kCpu) + "change:\n" + fenced(elided)), kCpu);
  EXPECT_EQ(outcome(fenced(elided)), elided);
}

TEST(Extract, indented_blocks_with_windows_lines_are_read) {
  std::string text = "1. Do this:\r\n   ```cpp\r\n";
  for (std::size_t at = 0; at < kCpu.size();) {
    std::size_t end = kCpu.find('\n', at);
    text += "   " + kCpu.substr(at, end - at) + "\r\n";
    at = end + 1;
  }
  EXPECT_EQ(outcome(text + "   ```\r\n"), kCpu);
}

TEST(Extract, code_without_a_fence_is_taken_if_there_is_nothing_else) {
  EXPECT_EQ(outcome("\n" + kCpu + "\n"), kCpu);
  EXPECT_EQ(extract_kernel(answer_of(kCpu))->form, KernelForm::bare);
  EXPECT_EQ(outcome("Here is the kernel.\n" + kCpu), "no_code");
  EXPECT_EQ(outcome(kCpu + "This copies the input."), "no_code");
  EXPECT_EQ(outcome("#include <cmath>\nusing T = float;\n"), "no_kernel");
  EXPECT_EQ(outcome(kPython), kPython);
}

TEST(Extract, an_answer_without_code_says_so) {
  EXPECT_EQ(outcome(""), "empty");
  EXPECT_EQ(outcome(" \n\t"), "empty");
  EXPECT_EQ(outcome("I cannot help with that."), "no_code");
}

TEST(Extract, truncated_code_is_never_taken_for_complete) {
  std::string open = "```cpp\n" + kCpu;
  EXPECT_EQ(outcome(open), "truncated");
  AnswerToRead answer = answer_of(open);
  answer.finish = FinishReason::length;
  EXPECT_EQ(outcome(answer), "truncated");
  answer.text = kCpu;
  EXPECT_EQ(outcome(answer), "truncated");
  answer.text = "First I will";
  EXPECT_EQ(outcome(answer), "truncated");
  EXPECT_EQ(outcome(kCpu.substr(0, kCpu.size() - 3)), "truncated");
  answer.text = "```\nsnippet\n```\nThe kernel";
  EXPECT_EQ(outcome(answer), "truncated");
}

TEST(Extract, a_closed_kernel_before_the_cut_is_taken) {
  std::string text = fenced(kCpu) + "Better:\n```cpp\n" + kCpu.substr(0, 60);
  AnswerToRead answer = answer_of(text);
  answer.finish = FinishReason::length;
  EXPECT_EQ(outcome(answer), kCpu);
}

TEST(Extract, the_prescribed_start_belongs_to_the_answer) {
  std::string text = kCpu + "```\nDone.";
  AnswerToRead answer = answer_of(text);
  answer.answer_start = "```cpp\n";
  EXPECT_EQ(outcome(answer), kCpu);
  text = fenced(kCpu);  // repeated by the server, or opened once more by the model
  answer.text = text;
  EXPECT_EQ(outcome(answer), kCpu);
  text = "\n" + fenced(kCpu);
  answer.text = text;
  EXPECT_EQ(outcome(answer), kCpu);
}

TEST(Extract, a_lost_opening_fence_does_not_lose_the_kernel) {
  EXPECT_EQ(outcome(kCpu + "```\n"), kCpu);
  EXPECT_EQ(outcome(kCpu + "```\nIt copies."), kCpu);
}

TEST(Extract, a_stop_at_the_fence_closes_the_block) {
  std::string text = kCpu.substr(0, kCpu.size() - 1);  // the server removed "\n```"
  AnswerToRead answer = answer_of(text);
  answer.answer_start = "```cpp\n";
  EXPECT_EQ(outcome(answer), "truncated");
  answer.stops_at_fence = true;
  EXPECT_EQ(outcome(answer), kCpu);
  answer.finish = FinishReason::length;
  EXPECT_EQ(outcome(answer), "truncated");
}

std::string hunk(const std::string& search, const std::string& replace) {
  return "<<<<<<< SEARCH\n" + search + "=======\n" + replace + ">>>>>>> REPLACE\n";
}

AnswerToRead diff_of(std::string_view text, std::string_view parent) {
  AnswerToRead answer = answer_of(text);
  answer.parent = parent;
  return answer;
}

TEST(ExtractDiff, hunks_change_the_parent_one_after_another) {
  std::string text = "Two changes:\n```\n" + hunk("    y[i] = x[i];\n", "    y[i] = 2 * x[i];\n") +
                     "```\n" + hunk("    y[i] = 2 * x[i];\n", "    y[i] = 3 * x[i];\n") + "Done.";
  std::string expected = kCpu;
  expected.replace(expected.find("y[i] = x"), 8, "y[i] = 3 * x");
  auto kernel = extract_kernel(diff_of(text, kCpu));
  ASSERT_TRUE(kernel);
  EXPECT_EQ(kernel->source, expected);
  EXPECT_EQ(kernel->form, KernelForm::diff);
}

TEST(ExtractDiff, a_hunk_matches_complete_lines) {
  EXPECT_EQ(outcome(diff_of(hunk("b;\n", "c;\n"), "int ab;\nint\n  b;\n")), "int ab;\nint\n  c;\n");
}

TEST(ExtractDiff, white_space_may_differ_and_the_place_keeps_its_indent) {
  std::string text = hunk("\nfor (int64_t i = tid;  i < n; i += nthreads)\t{\n  y[i] = x[i];\n",
                          "for (int64_t i = 0; i < n; ++i) {\n  y[i] = 1;\n");
  std::string expected = kCpu;
  std::size_t at = expected.find("  for");
  expected.replace(at, expected.find("  }\n") - at,
                   "  for (int64_t i = 0; i < n; ++i) {\n    y[i] = 1;\n");
  EXPECT_EQ(outcome(diff_of(text, kCpu)), expected);
  EXPECT_EQ(outcome(diff_of(hunk("      a;\n", "      b;\n        c;\n"), "  a;\n")),
            "  b;\n    c;\n");
}

TEST(ExtractDiff, a_hunk_that_does_not_match_is_named) {
  auto kernel = extract_kernel(
      diff_of(hunk("    y[i] = x[i];\n", "    y[i] = 0;\n") + hunk("  nowhere();\n", ""), kCpu));
  ASSERT_FALSE(kernel);
  EXPECT_EQ(kernel.error().reason, Reason::hunk_not_found);
  EXPECT_EQ(kernel.error().hunk, 2);
  EXPECT_NE(kernel.error().explanation.find("nowhere();"), std::string::npos);
  EXPECT_EQ(outcome(diff_of(hunk("", "int a;\n"), kCpu)), "hunk_not_found");
}

TEST(ExtractDiff, lines_may_be_removed_and_windows_lines_are_accepted) {
  EXPECT_EQ(outcome(diff_of(hunk("b;\n", ""), "a;\r\nb;\r\nc;\r\n")), "a;\nc;\n");
  EXPECT_EQ(
      outcome(diff_of("<<<<<<< SEARCH\r\nb;\r\n=======\r\nx;\r\n>>>>>>> REPLACE\r\n", "a;\nb;\n")),
      "a;\nx;\n");
}

TEST(ExtractDiff, a_change_needs_a_parent_and_an_end) {
  std::string change = hunk("    y[i] = x[i];\n", "    y[i] = 0;\n");
  EXPECT_EQ(outcome(change), "diff_without_parent");
  EXPECT_EQ(outcome(diff_of(change + change.substr(0, 40), kCpu)), "truncated");
  EXPECT_EQ(outcome(diff_of("<<<<<<< SEARCH\n" + change, kCpu)), "truncated");
}

TEST(ExtractDiff, a_complete_kernel_after_the_changes_is_the_result) {
  std::string change = hunk("    y[i] = x[i];\n", "    y[i] = 0;\n");
  std::string result = kCpu + "// result\n";
  EXPECT_EQ(outcome(diff_of(change + "All of it:\n" + fenced(result), kCpu)), result);
  std::string expected = kCpu;
  expected.replace(expected.find("y[i] = x[i]"), 11, "y[i] = 0");
  EXPECT_EQ(outcome(diff_of("Now:\n" + fenced(kCpu) + "becomes\n" + change, kCpu)), expected);
}

TEST(ExtractDiff, a_launch_is_not_a_marker) {
  EXPECT_EQ(outcome(fenced(kCuda + "// <<<<<<< SEARCHING\n"), "cuda"),
            kCuda + "// <<<<<<< SEARCHING\n");
}

TEST(Extract, sizes_and_counts_are_limited) {
  std::string large = kCpu + "// " + std::string(kMaxKernelSize.count, 'x') + "\n";
  EXPECT_EQ(outcome(fenced(large)), "too_large");
  EXPECT_EQ(outcome(std::string(kMaxAnswerSize.count + 1, 'x')), "too_large");
  std::string many;
  for (int i = 0; i < 100; ++i) many += hunk("a;\n", "a;\n");
  EXPECT_EQ(outcome(diff_of(many, "a;\n")), "too_large");
}

TEST(KernelShape, comments_and_literals_hide_braces) {
  const std::string body =
      "extern \"C\" void f() {\n  char a = '{'; const char* b = \"{\\\"{\"; auto c = "
      "R\"x({)\")x\"; // {\n"
      "  /* { */ int d = 1'000;\n}\n";
  EXPECT_TRUE(shape_of(body, "cpu").native);
  EXPECT_FALSE(shape_of(body + "{", "cpu").native);
  EXPECT_TRUE(shape_of(body + "{", "cpu").cut_off);
}

TEST(KernelShape, a_condition_may_open_a_brace_twice) {
  EXPECT_TRUE(
      shape_of("extern \"C\" void f() {\n#ifdef A\nif (a) {\n#else\nif (b) {\n#endif\n}\n}\n",
               "cpu")
          .native);
}

TEST(KernelShape, a_block_of_c_functions_is_a_kernel) {
  EXPECT_TRUE(shape_of("extern \"C\" {\nvoid f() {}\n}\n", "cpu").native);
  EXPECT_TRUE(shape_of("extern\n\"C\"\nvoid f() {}\n", "cpu").native);
  EXPECT_FALSE(shape_of("extern int a;\nvoid f() {}\n", "cpu").native);
}

TEST(Extract, a_very_repetitive_answer_is_read_in_linear_time) {
  std::string words;
  while (words.size() < 500'000) words += "extern \"C\" void f(int a)\n";
  EXPECT_EQ(outcome(fenced(words)), "no_kernel");
}

TEST(Extract, pieces_of_answers_in_any_order_give_an_answer_or_a_reason) {
  const std::vector<std::string> parts{"```cpp\n",
                                       "```\n",
                                       "~~~\n",
                                       kCpu,
                                       kCuda,
                                       kPython,
                                       "prose. ",
                                       "\n",
                                       "<<<<<<< SEARCH\n",
                                       "=======\n",
                                       ">>>>>>> REPLACE\n",
                                       "    y[i] = x[i];\n",
                                       "    y[i] = 0;\n",
                                       "```"};
  Random random(5);
  for (int round = 0; round < 3000; ++round) {
    std::string text;
    for (std::uint64_t n = random.below(10); n > 0; --n) text += parts[random.below(parts.size())];
    AnswerToRead answer = diff_of(text, kCpu);
    answer.finish = random.chance(0.3) ? FinishReason::length : FinishReason::stop;
    answer.answer_start = random.chance(0.3) ? "```cpp\n" : "";
    auto kernel = extract_kernel(answer);
    if (kernel && kernel->form != KernelForm::diff) {
      EXPECT_TRUE(shape_of(kernel->source, "cpu").is_kernel()) << text;
    }
  }
}

}  // namespace
}  // namespace specgen
