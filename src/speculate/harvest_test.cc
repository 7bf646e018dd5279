#include "speculate/harvest.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "base/random.h"
#include "generate/author/kernel_plan.h"
#include "schedule/normalised_source.h"

namespace specgen {
namespace {

using Kernels = std::vector<HarvestedKernel>;
using Foreign = Harvester::Foreign;

Kernels harvest(std::string_view text, std::string backend = "cpu",
                Foreign foreign = Foreign::leave, std::size_t delta = 7) {
  Harvester harvester(std::move(backend), foreign);
  Kernels found;
  for (std::size_t at = 0; at < text.size(); at += delta) {
    harvester.feed(text.substr(at, delta), found);
  }
  harvester.finish(found);
  return found;
}

std::string cpu_kernel(std::string_view body = "y[0] = x[0];") {
  return "#include <cstdint>\n\n"
         "// Adds nothing.\n"
         "static inline float same(float v) { return v; }\n\n"
         "extern \"C\" void copy(const float* x, float* y, int64_t n,\n"
         "                     void* scratch, int tid, int nthreads) {\n"
         "  for (int64_t i = 0; i < n; ++i) {\n    " +
         std::string(body) + "\n  }\n}\n";
}

std::string cuda_kernel() {
  return "// specgen:tune BLOCK = 128, 256\n"
         "// specgen:launch twice<<<ceildiv(n, BLOCK), BLOCK>>>(x, y, n)\n"
         "__global__ void twice(const float* x, float* y, int n) {\n"
         "  int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
         "  if (i < n) y[i] = 2 * x[i];\n"
         "}\n";
}

std::string model_new() {
  return "import torch\n"
         "import torch.nn as nn\n\n"
         "source = \"\"\"\n"
         "This is no prose. It is text.\n"
         "\"\"\"\n\n"
         "class ModelNew(nn.Module):\n"
         "    def __init__(self):\n"
         "        super().__init__()\n\n"
         "    def forward(self, x):\n"
         "        return torch.relu(x)\n";
}

std::string fenced(const std::string& code, const std::string& info = "cpp") {
  return "```" + info + "\n" + code + "```\n";
}

TEST(Harvest, a_fenced_kernel_is_taken_when_its_fence_closes) {
  const std::string text = "Let me write it:\n\n" + fenced(cpu_kernel());
  Harvester harvester("cpu");
  Kernels found;
  harvester.feed(std::string_view(text).substr(0, text.size() - 1), found);
  EXPECT_TRUE(found.empty());
  harvester.feed("\n", found);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].source, cpu_kernel());
  EXPECT_EQ(text.substr(found[0].begin, found[0].end - found[0].begin), cpu_kernel());
  EXPECT_TRUE(found[0].fenced);
  EXPECT_EQ(found[0].kind, HarvestKind::native);
}

TEST(Harvest, a_bare_kernel_is_taken_when_prose_continues) {
  const std::string text = "Let me write it:\n\n" + cpu_kernel() + "\nThat looks right to me.";
  Kernels found = harvest(text);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].source, cpu_kernel());
  EXPECT_EQ(text.substr(found[0].begin, found[0].end - found[0].begin), cpu_kernel());
  EXPECT_FALSE(found[0].fenced);
}

TEST(Harvest, a_bare_kernel_at_the_end_is_taken_at_the_end) {
  for (const std::string& end : {"", "\n", "\n\n  \n"}) {
    std::string kernel = cpu_kernel();
    kernel.pop_back();
    Kernels found = harvest("So:\n" + kernel + end);
    ASSERT_EQ(found.size(), 1U);
    EXPECT_EQ(found[0].source, cpu_kernel());
    EXPECT_EQ(found[0].end, 4 + kernel.size() + (end.empty() ? 0 : 1));
  }
}

TEST(Harvest, helpers_after_the_entry_belong_to_a_bare_kernel) {
  const std::string kernel =
      "static float f(float);\n" + cpu_kernel() +
      "\n// And what it needs.\nstatic float f(float v)\n{\n  return v;\n}\n";
  Kernels found = harvest("Code:\n" + kernel + "\nDone with that.\n");
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].source, kernel);
}

TEST(Harvest, a_part_of_a_kernel_is_not_taken) {
  const std::string kernel = cpu_kernel();
  const std::string half = kernel.substr(0, kernel.rfind('}'));
  EXPECT_TRUE(harvest("```cpp\n" + kernel).empty());  // its fence is not closed
  EXPECT_TRUE(harvest(fenced(half)).empty());
  EXPECT_TRUE(harvest(half).empty());
  EXPECT_TRUE(harvest(half + "\nWait, let me think again.\n").empty());
  EXPECT_TRUE(harvest("```cpp\n" + kernel + "```python\nx = 1\n```\n").empty());
  EXPECT_TRUE(harvest(fenced(cpu_kernel("// ... rest as before"))).empty());
}

TEST(Harvest, a_complete_kernel_after_a_part_of_one_is_found) {
  const std::string kernel = cpu_kernel();
  const std::string half = kernel.substr(0, kernel.rfind('}'));
  Kernels found =
      harvest(half + "\nWait, that is wrong. Once more:\n\n" + kernel + "\nSo it is.\n");
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].source, kernel);
}

TEST(Harvest, snippets_and_prose_are_not_kernels) {
  EXPECT_TRUE(harvest(fenced("for (int i = 0; i < n; ++i) y[i] = x[i];\n")).empty());
  EXPECT_TRUE(harvest("static shapes are easier to handle.\nconst correctness matters too.\n"
                      "# A heading\n\nfrom here on it is simple; import duties apply.\n")
                  .empty());
  EXPECT_TRUE(harvest(fenced(cpu_kernel()), "cuda").empty());
  EXPECT_TRUE(harvest(fenced(cuda_kernel(), "cuda"), "cpu").empty());
}

TEST(Harvest, a_cuda_kernel_needs_its_launch_lines) {
  Kernels found = harvest(fenced(cuda_kernel(), "cuda"), "cuda");
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].source, cuda_kernel());
  const std::string bare = "Now:\n\n" + cuda_kernel() + "\nThis is all.\n";
  ASSERT_EQ(harvest(bare, "cuda").size(), 1U);
  EXPECT_EQ(harvest(bare, "cuda")[0].source, cuda_kernel());
  const std::string without = cuda_kernel().substr(cuda_kernel().find("__global__"));
  EXPECT_TRUE(harvest(fenced(without, "cuda"), "cuda").empty());
}

TEST(Harvest, a_python_class_is_taken_with_its_imports) {
  for (const std::string& text :
       {fenced(model_new(), "python"), "Here:\n\n" + model_new() + "\nThat should do.\n"}) {
    Kernels found = harvest(text, "cuda");
    ASSERT_EQ(found.size(), 1U) << text;
    EXPECT_EQ(found[0].source, model_new());
    EXPECT_EQ(found[0].kind, HarvestKind::model_new);
  }
}

TEST(Harvest, foreign_kernels_are_taken_only_on_request) {
  const std::string triton =
      "import torch\nimport triton\nimport triton.language as tl\n\n@triton.jit\ndef k(x, n):\n"
      "    pass\n\ndef launch(x):\n    k[(1,)](x, 1)\n    return x\n";
  const std::string jit_alone = triton.substr(0, triton.find("def launch"));
  EXPECT_TRUE(harvest(fenced(triton, "python"), "cuda").empty());
  EXPECT_TRUE(harvest(fenced(jit_alone, "python"), "cuda", Foreign::take).empty());
  Kernels found = harvest(fenced(triton, "python"), "cuda", Foreign::take);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].kind, HarvestKind::foreign);
  const std::string cuda =
      "#include <cuda.h>\n__global__ void k(float* x) { *x = 0; }\n"
      "void run(float* x) { k<<<1, 1>>>(x); }\n";
  EXPECT_EQ(harvest(fenced(cuda), "cuda", Foreign::take).size(), 1U);
}

TEST(Harvest, near_equal_drafts_are_reported_once) {
  std::string other = cpu_kernel();
  other.replace(other.find("// Adds nothing."), 16, "/* Or does it? */");
  Harvester harvester("cpu");
  Kernels found;
  harvester.feed(fenced(cpu_kernel()) + fenced(other) + fenced(cpu_kernel("y[1] = x[0];")), found);
  EXPECT_EQ(found.size(), 2U);
  EXPECT_EQ(harvester.repeated(), 1U);
  std::string python = model_new();
  python.insert(python.find("class"), "# A remark.\n\n");
  EXPECT_EQ(harvest(fenced(model_new(), "py") + fenced(python, "py")).size(), 1U);
}

TEST(Harvest, an_indented_fence_takes_its_indent_away) {
  std::string indented = "   ```cpp\n";
  for (std::size_t at = 0; at < cpu_kernel().size();) {
    std::size_t end = cpu_kernel().find('\n', at) + 1;
    indented += "   " + cpu_kernel().substr(at, end - at);
    at = end;
  }
  Kernels found = harvest("1. A list:\n" + indented + "   ```\n");
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].source, cpu_kernel());
}

TEST(Harvest, a_block_that_is_too_large_is_skipped_and_the_next_is_found) {
  const std::string huge = cpu_kernel("// " + std::string(2 << 20, 'x'));
  std::string long_text;
  for (int i = 0; i < 20'000; ++i) long_text += "  // " + std::string(60, 'y') + "\n";
  for (const std::string& large : {huge, cpu_kernel(long_text)}) {
    const std::string text = fenced(large) + "And now:\n" + fenced(cpu_kernel());
    Kernels found = harvest(text, "cpu", Foreign::leave, 4096);
    ASSERT_EQ(found.size(), 1U);
    EXPECT_EQ(text.substr(found[0].begin, found[0].end - found[0].begin), cpu_kernel());
  }
}

TEST(Harvest, how_the_text_is_cut_into_deltas_changes_nothing) {
  const std::vector<std::string> parts{fenced(cpu_kernel()),
                                       cpu_kernel("y[2] = 1;"),
                                       "```\n",
                                       "Wait, no.\n",
                                       "\n",
                                       "```cpp\n",
                                       fenced(model_new(), ""),
                                       model_new(),
                                       "}\n",
                                       "{",
                                       "\"",
                                       "/*",
                                       "import torch\n",
                                       "extern \"C\" ",
                                       "~~~\n",
                                       "  \r\n",
                                       "'''",
                                       "#include <x>\n"};
  Random random(3);
  std::size_t kernels = 0;
  for (int round = 0; round < 300; ++round) {
    std::string text;
    for (std::uint64_t count = random.below(12); count > 0; --count) {
      text += parts[random.below(parts.size())];
    }
    Kernels at_once = harvest(text, "cpu", Foreign::take, text.size() + 1);
    Kernels pieces = harvest(text, "cpu", Foreign::take, 1 + random.below(9));
    ASSERT_EQ(at_once.size(), pieces.size()) << text;
    kernels += at_once.size();
    for (std::size_t i = 0; i < at_once.size(); ++i) {
      EXPECT_EQ(at_once[i].source, pieces[i].source);
      EXPECT_EQ(at_once[i].begin, pieces[i].begin);
      EXPECT_EQ(at_once[i].end, pieces[i].end);
    }
  }
  EXPECT_GT(kernels, 200U);
}

// Real kernels, long and short, with templates, macros, shared memory and inline assembly.
TEST(Harvest, every_kernel_of_the_author_is_found_with_and_without_fences) {
  Random random(5);
  std::size_t kernels = 0;
  for (const auto& entry : std::filesystem::directory_iterator(SPECGEN_SOURCE_DIR "/tasks")) {
    for (const char* backend : {"cpu", "cuda"}) {
      const KernelPlan* plan = find_plan(entry.path().filename().string(), backend);
      for (int round = 0; plan && round < 12; ++round) {
        Decisions made;
        for (const Decision& decision : plan->decisions()) {
          made[decision.name] = decision.choices[random.below(decision.choices.size())].value;
        }
        const std::string source = plan->write(made, "");
        ++kernels;
        for (const std::string& text :
             {"So here it is:\n\n" + source + "\nThat looks about right.\n",
              "So here it is:\n" + fenced(source) + "Good.\n"}) {
          Kernels found = harvest(text, backend, Foreign::leave, 16);
          ASSERT_EQ(found.size(), 1U) << entry.path() << " " << backend << "\n" << text;
          ASSERT_EQ(found[0].source, source);
          ASSERT_EQ(text.substr(found[0].begin, found[0].end - found[0].begin), source);
        }
      }
    }
  }
  EXPECT_GT(kernels, 200U);
}

TEST(NormalisedPython, keeps_everything_but_comments) {
  EXPECT_EQ(without_python_comments("a = 1  # one\n\n  \nb = '# two'  \n"), "a = 1\nb = '# two'\n");
  EXPECT_EQ(without_python_comments("if x:\n    # no\n    y = a // b\n"),
            "if x:\n    y = a // b\n");
  EXPECT_EQ(without_python_comments("s = \"\"\"\n# kept\n\n  \"\"\" # gone"),
            "s = \"\"\"\n# kept\n\n  \"\"\"\n");
  EXPECT_EQ(without_python_comments("s = 'it\\'s # in'\nt = 'open # in\nu"),
            "s = 'it\\'s # in'\nt = 'open # in\nu\n");
}

}  // namespace
}  // namespace specgen
