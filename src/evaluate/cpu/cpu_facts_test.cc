#include "evaluate/cpu/cpu_facts.h"

#include <gtest/gtest.h>

#include <boost/json.hpp>

#include "base/file.h"
#include "base/temporary_folder.h"
#include "runtime/testing.h"

namespace specgen {
namespace {

std::vector<std::string> remarks_in(std::string_view log) {
  std::vector<std::string> rows;
  for (const VectorRemark& remark : vector_remarks(log, "candidate.cc")) {
    rows.push_back(std::to_string(remark.line) + (remark.vectorized ? " yes: " : " no: ") +
                   remark.text);
  }
  return rows;
}
using Rows = std::vector<std::string>;

TEST(VectorRemarks, of_gcc_are_one_per_line_with_the_reason) {
  EXPECT_EQ(
      remarks_in(
          "candidate.cc: In function 'void f()':\n"
          "candidate.cc:16:27: optimized: loop vectorized using 64 byte vectors\n"
          "candidate.cc:16:27: optimized:  loop versioned for vectorization because of possible "
          "aliasing\n"
          "candidate.cc:16:27: optimized: loop vectorized using 16 byte vectors\n"
          "candidate.cc:8:25: missed: couldn't vectorize loop\n"
          "candidate.cc:8:43: missed: not vectorized: unsupported use in stmt.\n"
          "candidate.cc:20:3: missed: couldn't vectorize loop\n"
          "candidate.cc:22:9: missed: not vectorized: complicated access pattern.\n"
          "candidate.cc:30:3: missed: statement clobbers memory: _1 = expf (x);\n"
          "candidate.cc:31:1: missed: couldn't vectorize loop\n"
          "/usr/include/c++/12/cmath:222:3: missed: not vectorized: relevant stmt not supported\n"
          "candidate.cc:12:5: warning: unused variable 'x'\n"),
      (Rows{"8 no: not vectorized: unsupported use in stmt.",
            "16 yes: loop vectorized using 64 byte vectors",
            "20 no: not vectorized: complicated access pattern. (line 22)",
            "22 no: not vectorized: complicated access pattern.",
            "31 no: not vectorized: relevant stmt not supported"}));
}

TEST(VectorRemarks, of_clang_are_one_per_line_with_the_reason) {
  EXPECT_EQ(
      remarks_in(
          "candidate.cc:4:3: remark: vectorized loop (vectorization width: 8, interleaved count: "
          "4) [-Rpass=loop-vectorize]\n"
          "    4 |   for (int64_t i = 0; i < n; ++i) out[i] = 2.5f * x[i] + y[i];\n"
          "      |   ^\n"
          "candidate.cc:8:3: remark: loop not vectorized: value that could not be identified as "
          "reduction is used outside the loop [-Rpass-analysis=loop-vectorize]\n"
          "candidate.cc:8:3: remark: loop not vectorized [-Rpass-missed=loop-vectorize]\n"
          "candidate.cc:9:3: remark: loop not vectorized [-Rpass-missed=loop-vectorize]\n"
          "candidate.cc:10:3: remark: interleaved loop (interleaved count: 4) "
          "[-Rpass=loop-vectorize]\n"
          "candidate.cc:11:3: remark: 'f' inlined into 'g' [-Rpass=inline]\n"),
      (Rows{"4 yes: vectorized loop (vectorization width: 8, interleaved count: 4)",
            "8 no: loop not vectorized: value that could not be identified as reduction is used "
            "outside the loop",
            "9 no: loop not vectorized", "10 no: interleaved loop (interleaved count: 4)"}));
}

TEST(VectorRemarks, prefer_success_on_the_same_line) {
  std::string yes = "candidate.cc:5:1: optimized: loop vectorized using 32 byte vectors\n";
  std::string no =
      "candidate.cc:5:1: missed: couldn't vectorize loop\n"
      "candidate.cc:5:9: missed: not vectorized: no grouped stores in basic block.\n";
  EXPECT_EQ(remarks_in(yes + no), remarks_in(no + yes));
  EXPECT_EQ(remarks_in(yes + no), Rows{"5 yes: loop vectorized using 32 byte vectors"});
}

TEST(VectorRemarks, are_at_most_twenty_and_loops_come_first) {
  std::string log;
  for (int line = 1; line <= 50; ++line) {
    log += "candidate.cc:" + std::to_string(line) + ":1: missed: not vectorized: no vectype.\n";
  }
  log += "candidate.cc:99:1: missed: couldn't vectorize loop\n";
  Rows rows = remarks_in(log);
  ASSERT_EQ(rows.size(), 20u);
  EXPECT_TRUE(rows.front().starts_with("1 no"));
  EXPECT_EQ(rows.back(), "99 no: couldn't vectorize loop");
}

TEST(VectorRemarks, hostile_text_stays_short_and_printable) {
  EXPECT_EQ(remarks_in(""), Rows{});
  for (const char* row :
       {"candidate.cc", "candidate.cc:", "candidate.cc:1", "candidate.cc:1:", "candidate.cc:1:2",
        "candidate.cc:1:2: ", "candidate.cc:1:2: missed",
        "candidate.cc:x:2: missed: not vectorized", "candidate.cc:0:2: missed: not vectorized",
        "candidate.cc:-4:2: missed: not vectorized",
        "candidate.cc:99999999999:2: missed: not vectorized",
        "candidate.cc2:1:2: missed: not vectorized", "candidate.cc:1:2: remark: vectorized loop",
        "other.cc:1:2: missed: not vectorized"}) {
    EXPECT_EQ(remarks_in(row), Rows{}) << row;
  }
  Rows rows = remarks_in("candidate.cc:1:2: missed: not vectorized: \x1b[31m\xff" +
                         std::string(5000, 'a') + "\n");
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_LT(rows[0].size(), 150u);
  EXPECT_FALSE(rows[0].contains('\x1b'));
  EXPECT_FALSE(rows[0].contains('\xff'));
}

constexpr std::string_view kSaxpy = R"(
g.so:     file format elf64-x86-64

Disassembly of section .plt:

0000000000001030 <_ZGVdN8v_expf@plt>:
    1030:  jmp    *0x2fca(%rip)        # 4000 <_ZGVdN8v_expf@GLIBC_2.22>
    1036:  push   $0x0
    103b:  jmp    1030 <_init+0x20>

Disassembly of section .text:

0000000000001150 <saxpy>:
    1150:  test   %rcx,%rcx
    1153:  jle    11cc <saxpy+0x7c>
    11a0:  vbroadcastss 0xe57(%rip),%ymm1        # 2000 <_fini+0x738>
    11b0:  vmovups (%rdi,%rax,1),%ymm0
    11b5:  vfmadd213ps (%rsi,%rax,1),%ymm1,%ymm0
    11bb:  vmovups %ymm0,(%rdx,%rax,1)
    11c0:  add    $0x20,%rax
    11c4:  cmp    %r8,%rax
    11c7:  jne    11b0 <saxpy+0x60>
    11c9:  vzeroupper
    11cc:  ret
)";

TEST(HotLoop, is_counted_by_kind_of_instruction) {
  InstructionMix mix = hot_loop_mix(kSaxpy, "saxpy").value();
  EXPECT_EQ(mix.where, "loop of 6 instructions in saxpy");
  EXPECT_EQ(mix.instructions, 6);
  EXPECT_EQ(mix.vector_float, 1);
  EXPECT_EQ(mix.scalar_float, 0);
  EXPECT_EQ(mix.fused_multiply_add, 1);
  EXPECT_EQ(mix.loads, 2);
  EXPECT_EQ(mix.stores, 1);
  EXPECT_EQ(mix.branches, 1);
  EXPECT_EQ(mix.calls, 0);
  EXPECT_EQ(mix.widest, "ymm");
}

std::string function(std::string_view name, const std::vector<std::string>& instructions) {
  std::string text = "0000000000001000 <" + std::string(name) + ">:\n";
  for (std::size_t i = 0; i < instructions.size(); ++i) {
    text += "    " + std::to_string(1000 + i) + ":\t" + instructions[i] + "\n";
  }
  return text + "\n";
}

TEST(HotLoop, is_the_innermost_with_the_most_vector_arithmetic) {
  std::string text = function("f", {"xor %eax,%eax",             // 1000: outer loop
                                    "mulss (%rdi),%xmm0",        // 1001: long scalar loop
                                    "addss %xmm1,%xmm0",         //
                                    "divss %xmm1,%xmm0",         //
                                    "jne 1001 <f+0x1>",          //
                                    "vaddps %zmm0,%zmm1,%zmm2",  // 1005: short vector loop
                                    "call 2000 <g>",             //
                                    "jne 1005 <f+0x5>",          //
                                    "vaddps %zmm0,%zmm1,%zmm2",  //
                                    "vaddps %zmm0,%zmm1,%zmm2",  //
                                    "jmp 1000 <f>"});
  InstructionMix mix = hot_loop_mix(text, "f").value();
  EXPECT_EQ(mix.where, "loop of 3 instructions in f");
  EXPECT_EQ(mix.widest, "zmm");
  EXPECT_EQ(mix.calls, 1);
}

TEST(HotLoop, without_vectors_has_the_most_float_and_without_float_is_the_longest) {
  std::string plain = function("plain", {"inc %eax", "inc %eax", "inc %eax", "jne 1000 <plain>"});
  std::string shorter = function("shorter", {"inc %eax", "jne 1000 <shorter>"});
  std::string scalar = function("scalar", {"addsd %xmm0,%xmm1", "jne 1000 <scalar>"});
  EXPECT_TRUE(hot_loop_mix(shorter + plain, "plain")->where.ends_with(" in plain"));
  EXPECT_TRUE(hot_loop_mix(plain + shorter, "plain")->where.ends_with(" in plain"));
  InstructionMix mix = hot_loop_mix(plain + scalar, "plain").value();
  EXPECT_TRUE(mix.where.ends_with(" in scalar"));
  EXPECT_EQ(mix.scalar_float, 1);
}

TEST(HotLoop, recognises_a_copy_loop_by_its_wide_moves) {
  std::string plain = function("plain", {"inc %eax", "inc %eax", "inc %eax", "jne 1000 <plain>"});
  std::string copy =
      function("copy", {"vmovups (%rsi),%zmm0", "vmovups %zmm0,(%rdi)", "jne 1000 <copy>"});
  InstructionMix mix = hot_loop_mix(plain + copy, "plain").value();
  EXPECT_TRUE(mix.where.ends_with(" in copy"));
  EXPECT_EQ(mix.vector_float, 0);
  EXPECT_EQ(mix.loads, 1);
  EXPECT_EQ(mix.stores, 1);
}

TEST(HotLoop, a_jump_back_from_rare_code_is_no_loop) {
  std::string text =
      function("f", {"je 1004 <f+0x4>", "vaddps %ymm0,%ymm1,%ymm2", "vaddps %ymm0,%ymm1,%ymm2",
                     "ret", "xor %eax,%eax", "jmp 1001 <f+0x1>"});
  EXPECT_EQ(hot_loop_mix(text, "f")->where, "all 6 instructions of f, which has no loop");
}

TEST(HotLoop, two_jumps_to_the_same_place_are_one_loop) {
  std::string text =
      function("f", {"addsd (%rdi),%xmm0", "je 1000 <f>", "inc %eax", "jne 1000 <f>"});
  EXPECT_EQ(hot_loop_mix(text, "f")->where, "loop of 4 instructions in f");
}

TEST(HotLoop, a_jump_into_another_function_is_no_loop) {
  std::string text = function("f", {"inc %eax", "jmp 900 <g>"});
  EXPECT_EQ(hot_loop_mix(text, "f")->instructions, 2);
  EXPECT_TRUE(hot_loop_mix(text, "f")->where.starts_with("all "));
}

TEST(HotLoop, distinguishes_kinds_of_instructions) {
  struct Sample {
    const char* text;
    int vector_float, scalar_float, fused, loads, stores;
  };
  for (const Sample& sample : {
           Sample{"vpmaxsd %ymm0,%ymm1,%ymm2", 0, 0, 0, 0, 0},  // integers
           Sample{"vpabsd %xmm0,%xmm1", 0, 0, 0, 0, 0},
           Sample{"push %rbp", 0, 0, 0, 0, 0},
           Sample{"clflush (%rax)", 0, 0, 0, 0, 0},
           Sample{"lea 0x4(%rsi),%r10", 0, 0, 0, 0, 0},
           Sample{"nopw 0x0(%rax,%rax,1)", 0, 0, 0, 0, 0},
           Sample{"data16 cs nopw 0x0(%rax,%rax,1)", 0, 0, 0, 0, 0},
           Sample{"movsd (%rax),%xmm0", 0, 0, 0, 1, 0},
           Sample{"vxorps %xmm0,%xmm0,%xmm0", 0, 0, 0, 0, 0},
           Sample{"vdivps (%rax){1to16},%zmm1,%zmm2{%k1}{z}", 1, 0, 0, 1, 0},
           Sample{"vmovups %zmm0,0x40(%rax,%rdx,4){%k1}", 0, 0, 0, 0, 1},
           Sample{"vcvtph2ps (%rax),%ymm0", 1, 0, 0, 1, 0},
           Sample{"vcvtsi2ssl (%rax),%xmm0,%xmm0", 0, 1, 0, 1, 0},
           Sample{"vfnmadd231sd %xmm1,%xmm2,%xmm3", 0, 1, 1, 0, 0},
           Sample{"vdpbf16ps %zmm1,%zmm2,%zmm3", 1, 0, 1, 0, 0},
           Sample{"vcomiss (%rax),%xmm0", 0, 1, 0, 1, 0},
           Sample{"addl $0x1,(%rax)", 0, 0, 0, 1, 1},
           Sample{"lock xadd %eax,(%rdx)", 0, 0, 0, 1, 1},
           Sample{"cmpl $0x1,(%rax)", 0, 0, 0, 1, 0},
           Sample{"rep stos %al,%es:(%rdi)", 0, 0, 0, 0, 1},
           Sample{"faddp %st,%st(1)", 0, 1, 0, 0, 0},
       }) {
    InstructionMix mix = hot_loop_mix(function("f", {sample.text}), "f").value();
    EXPECT_EQ(mix.vector_float, sample.vector_float) << sample.text;
    EXPECT_EQ(mix.scalar_float, sample.scalar_float) << sample.text;
    EXPECT_EQ(mix.fused_multiply_add, sample.fused) << sample.text;
    if (!std::string_view(sample.text).contains("%st")) {
      EXPECT_EQ(mix.loads, sample.loads) << sample.text;
      EXPECT_EQ(mix.stores, sample.stores) << sample.text;
    }
  }
}

TEST(HotLoop, reads_aarch64_roughly) {
  std::string text = "f.so:     file format elf64-littleaarch64\n\n" +
                     function("f", {"ldr\tq0, [x1, x3]", "fmla\tv0.4s, v1.4s, v2.4s",
                                    "fadd\ts3, s3, s4", "str\tq0, [x2, x3]", "add\tx3, x3, #0x10",
                                    "b.ne\t1000 <f>  // b.any", "bl\t2000 <g>", "ret"});
  InstructionMix mix = hot_loop_mix(text, "f").value();
  EXPECT_EQ(mix.where, "loop of 6 instructions in f");
  EXPECT_EQ(mix.vector_float, 1);
  EXPECT_EQ(mix.scalar_float, 1);
  EXPECT_EQ(mix.fused_multiply_add, 1);
  EXPECT_EQ(mix.loads, 1);
  EXPECT_EQ(mix.stores, 1);
  EXPECT_EQ(mix.calls, 0);
  EXPECT_EQ(mix.widest, "neon");
}

TEST(HotLoop, text_without_the_function_is_an_error) {
  for (std::string text : {std::string(), std::string("no such file"), function("g", {"ret"}),
                           std::string("0000 <f>:\n"), std::string("  1000:\tret\n")}) {
    auto mix = hot_loop_mix(text, "f");
    ASSERT_FALSE(mix) << text;
    EXPECT_EQ(mix.error().code, ErrorCode::bad_message);
  }
}

TEST(HotLoop, handles_very_many_jumps) {
  std::vector<std::string> instructions(20'000, "jne 1000 <f>");
  EXPECT_EQ(hot_loop_mix(function("f", instructions), "f")->instructions, 20'000);
}

constexpr std::string_view kSource = R"(#include <stdint.h>
extern "C" void saxpy(const float* x, const float* y, float* out, int64_t n) {
  for (int64_t i = 0; i < n; ++i) out[i] = 2.5f * x[i] + y[i];
}
extern "C" void chain(const float* x, float* out, int64_t n) {
  float s = 0;
  for (int64_t i = 0; i < n; ++i) out[i] = s = s * 0.5f + x[i];
}
)";

// With the installed compilers; the project needs at least one of them.
class CompiledFacts : public testing::TestWithParam<std::pair<const char*, const char*>> {
 protected:
  RealRuntime runtime_;
  Processes processes_{runtime_.loop, runtime_.driver};
};

TEST_P(CompiledFacts, of_a_real_compiler_are_read) {
  auto [compiler, remarks_flags] = GetParam();
  if (find_program(compiler).empty()) GTEST_SKIP() << compiler << " is not installed";
  if (find_program("objdump").empty()) GTEST_SKIP() << "objdump is not installed";
#if !defined(__x86_64__)
  GTEST_SKIP() << "the flags are those of x86-64";
#endif
  TemporaryFolder folder = TemporaryFolder::make().value();
  std::filesystem::path object = folder.path() / "candidate.so";
  ASSERT_TRUE(write_file_durably(folder.path() / "candidate.cc", kSource));
  std::string script = std::string(compiler) + " -O3 -mavx2 -mfma -shared -fPIC -nostartfiles " +
                       remarks_flags + " candidate.cc -o candidate.so";
  Finished finished =
      runtime_.loop.run(processes_.run({.argv = {"sh", "-c", script}, .folder = folder.path()}))
          .value();
  ASSERT_TRUE(finished.exit.ok()) << finished.error_output;

  std::vector<VectorRemark> remarks = vector_remarks(finished.error_output, "candidate.cc");
  ASSERT_EQ(remarks.size(), 2u) << finished.error_output;
  EXPECT_EQ(remarks[0].line, 3);
  EXPECT_TRUE(remarks[0].vectorized);
  EXPECT_EQ(remarks[1].line, 7);
  EXPECT_FALSE(remarks[1].vectorized);
  EXPECT_TRUE(remarks[1].text.contains("not vectorized: ")) << remarks[1].text;

  auto listing = runtime_.loop.run(disassemble(processes_, read_file(object).value()));
  ASSERT_TRUE(listing) << listing.error().summary();
  InstructionMix mix = hot_loop_mix(*listing, "saxpy").value();
  EXPECT_TRUE(mix.where.ends_with(" in saxpy")) << mix.where;
  EXPECT_EQ(mix.widest, "ymm");
  EXPECT_GE(mix.vector_float, 1);
  EXPECT_EQ(mix.fused_multiply_add, mix.vector_float);
  EXPECT_EQ(mix.scalar_float, 0);
  EXPECT_EQ(mix.loads, 2 * mix.stores);
  EXPECT_EQ(mix.branches, 1);
}

INSTANTIATE_TEST_SUITE_P(
    Compilers, CompiledFacts,
    testing::Values(std::pair("g++", "-fopt-info-vec-optimized-missed"),
                    std::pair("clang++-19",
                              "-Rpass=loop-vectorize -Rpass-missed=loop-vectorize "
                              "-Rpass-analysis=loop-vectorize")),
    [](const auto& param) { return std::string(param.param.first[0] == 'g' ? "gcc" : "clang"); });

TEST(Disassemble, of_a_file_that_is_no_object_is_an_error) {
  if (find_program("objdump").empty()) GTEST_SKIP() << "objdump is not installed";
  RealRuntime runtime;
  Processes processes(runtime.loop, runtime.driver);
  for (const std::string& binary : {std::string(), std::string("\x7f"
                                                               "ELF and no more")}) {
    auto listing = runtime.loop.run(disassemble(processes, binary));
    ASSERT_FALSE(listing);
    EXPECT_EQ(listing.error().code, ErrorCode::bad_message);
  }
}

TEST(CpuFacts, json_has_remarks_and_the_loop_or_null) {
  EXPECT_EQ(compact_json(cpu_facts_json({}, std::nullopt)),
            R"({"vectorization":[],"hot_loop":null})");
  EXPECT_EQ(compact_json(cpu_facts_json({{3, true, "loop vectorized"}},
                                        hot_loop_mix(kSaxpy, "saxpy").value())),
            R"({"vectorization":[{"line":3,"vectorized":true,"text":"loop vectorized"}],)"
            R"("hot_loop":{"where":"loop of 6 instructions in saxpy","instructions":6,)"
            R"("vector_float":1,"scalar_float":0,"fused_multiply_add":1,"loads":2,"stores":1,)"
            R"("branches":1,"calls":0,"widest":"ymm"}})");
}

}  // namespace
}  // namespace specgen
