#include <gtest/gtest.h>

#include <algorithm>
#include <ctime>

#include "evaluate/candidate/cpu_gate.h"
#include "evaluate/candidate/source_text.h"

namespace specgen {
namespace {

// "3: reason"
std::string verdict(std::string_view source) {
  auto result = check_cpu_source(source);
  if (result) return "accepted";
  return std::to_string(result.error().line) + ": " + result.error().reason;
}

TEST(CpuSource, that_only_computes_is_accepted) {
  EXPECT_EQ(verdict(R"cc(#include <cstdint>
#include "math.h"      // a comment
#include <immintrin.h> /* another */
#pragma GCC optimize("O3")
#pragma once
#define UNROLL _Pragma("GCC unroll 8")
#define SHOW(x) #x
#if defined(__AVX512F__)
#else
#endif
                         // the constructor of a section: #include <vector> is not one, nor is asm
                         const char* text = "__attribute__((constructor)) asm #include <x>";
                         const char* raw = R"x( " asm )" )x";
                         int million = 1'000'000;
                         char quote = '"';
                         char hash = '\'';
                         [[gnu::always_inline]] inline void hint() {
                           asm volatile("" ::: "memory");
                         }
                         inline void pause() {
                           __asm__ __volatile__("pause\n\t.p2align 4\n.L1: jmp .L1" : : : "memory");
                         }
                         __attribute__((target("avx2"), aligned(64))) float section[4];
                         extern "C" void f(float* x, int64_t n, void* scratch, int tid, int nthreads) {}
            )cc"),
            "accepted");
}

TEST(CpuSource, includes_only_what_is_on_the_list_and_learns_why) {
  EXPECT_EQ(verdict("\n#include <vector>"),
            "2: 'vector' may not be included: memory comes from '// specgen:scratch BYTES' and the "
            "stack");
  EXPECT_TRUE(verdict("#include <thread>").contains("tid 0..nthreads-1"));
  EXPECT_TRUE(verdict("#include <iostream>").contains("cannot read or print"));
  EXPECT_EQ(verdict("#include \"/etc/passwd\""),
            "1: '/etc/passwd' may not be included: <cmath>, <cstring>, <algorithm>, <immintrin.h> "
            "and similar headers are allowed");
  EXPECT_TRUE(verdict("#include <../cmath>").contains("may not be included"));
  EXPECT_EQ(verdict("#include FILE"), "1: #include must name its file: <...> or \"...\"");
  EXPECT_EQ(verdict("#include"), "1: #include must name its file: <...> or \"...\"");
  EXPECT_EQ(verdict("#include <cmath> <vector>"), "1: #include has more than a file name");
}

TEST(CpuSource, cannot_hide_an_include) {
  std::vector<std::string> hidden{"%:include <vector>",
                                  "  \t#\t include <vector>",
                                  "#inc\\\nlude <vector>",
                                  "#inc\\  \nlude <vector>",
                                  "#\\\r\ninclude <vector>",
                                  "/* a */ #include <vector>",
                                  "/* a\n b */ #include <vector>",
                                  "/**/ /**/ # /**/ include <vector>",
                                  "/* *\\\n/ #include <vector>",
                                  "int x;\r#include <vector>",
                                  "\f#include <vector>",
                                  "\xEF\xBB\xBF#include <vector>",
                                  "// a comment that ends in a backslash \\ \n#include <vector>",
                                  "const char* a = R\"(\n)\"; /* \" */\n#include <vector>",
                                  "#if 0\nR\"(\n#endif\n#include <vector>\n#if 0\n)\"\n#endif",
                                  "char q = '\\\\';\n#include <vector>",
                                  "#define A '\"'\n#include <vector>",
                                  "#if 0\ndon't\n#endif\n#include <vector>",
                                  "auto s = uR\"(\" /* )\";\n#include <vector>\n/* */"};
  for (const std::string& source : hidden) {
    EXPECT_TRUE(verdict(source).contains("'vector' may not be included")) << source << "\n"
                                                                          << verdict(source);
  }
  EXPECT_EQ(verdict("# /*\n*/ include <vector>"), "1: a comment hides a preprocessor line");
  EXPECT_EQ(verdict("\?\?=include <vector>"), "1: a trigraph is not allowed in a candidate");
}

TEST(CpuSource, cannot_read_files_in_other_ways) {
  EXPECT_EQ(verdict("#include_next <cmath>"), "1: #include_next is not allowed in a candidate");
  EXPECT_EQ(verdict("x\n#embed \"/etc/passwd\""), "2: #embed is not allowed in a candidate");
  EXPECT_EQ(verdict("#import <cmath>"), "1: #import is not allowed in a candidate");
  EXPECT_EQ(verdict("#line 7 \"a\""), "1: #line is not allowed in a candidate");
  EXPECT_EQ(verdict("# 7 \"a\" 3"), "1: #7 is not allowed in a candidate");
  EXPECT_EQ(verdict("#if __has_include(<vector>)\n#endif"),
            "1: '__has_include' is not allowed in a candidate");
  EXPECT_EQ(verdict("import <vector>;"), "1: 'import' is not allowed in a candidate");
  EXPECT_EQ(verdict("#pragma GCC dependency \"a\""),
            "1: #pragma dependency is not allowed in a candidate");
  EXPECT_EQ(verdict("#pragma GCC pch_preprocess \"a\""),
            "1: #pragma pch_preprocess is not allowed in a candidate");
  EXPECT_EQ(verdict("_Pragma(\"GCC dependency \\\"a\\\"\")"),
            "1: a pragma that reads files is not allowed in a candidate");
}

TEST(CpuSource, has_assembler_for_instructions_only) {
  EXPECT_EQ(verdict("asm(\".incbin \\\"/etc/passwd\\\"\");"),
            "1: asm may hold instructions only, not '.incbin'");
  for (std::string_view code :
       {R"(asm(".inc" "bin \"x\"");)", R"(asm("\x2eincbin \"x\"");)", R"(asm("\056incbin x");)",
        R"cc(asm(R"(.incbin "x")");)cc", R"(asm volatile("nop;.incbin x");)",
        R"(asm("a:.incbin x");)", R"(asm("{.incbin|.incbin} x");)", "__asm(\"/**/.incbin x\");",
        R"(__asm__ __volatile__ (u8".incbin x" : : );)"}) {
    EXPECT_TRUE(verdict(code).contains("not '.incbin'")) << code << verdict(code);
  }
  for (std::string_view directive : {"section .init", "pushsection .fini", "globl f", "macro m",
                                     "set a, b", "include \\\"x\\\"", "init"}) {
    std::string source = "asm(\"nop\\n." + std::string(directive) + "\");";
    EXPECT_TRUE(verdict(source).contains("instructions only")) << source;
  }
  EXPECT_EQ(verdict("asm(CODE);"), "1: asm must hold its code as plain strings, without macros");
  EXPECT_EQ(verdict("asm(\"nop\" CODE);"),
            "1: asm must hold its code as plain strings, without macros");
  EXPECT_EQ(verdict("#define a asm\n"), "1: asm is expected to be followed by '(\"...\")'");
  EXPECT_EQ(verdict("asm(\"mov $60, %eax; syscall\");"),
            "1: asm may not call the system ('syscall')");
  EXPECT_EQ(verdict("asm(\"INT $0x80\");"), "1: asm may not call the system ('INT')");
}

TEST(CpuSource, has_no_attributes_that_run_code_outside_of_calls) {
  EXPECT_EQ(verdict("__attribute__((constructor)) void f();"),
            "1: the attribute 'constructor' is not allowed in a candidate");
  for (std::string_view source :
       {"__attribute__((aligned(8), __destructor__)) void f();",
        "[[gnu::constructor(101)]] void f();", "[[gnu::ifunc(\"g\")]] void f();",
        "__attribute__ /* x */ ((section(\".init_array\"))) int a;",
        "__attribute((weakref(\"system\"))) void f();", "[ [gnu::constructor]] void f();",
        "__attribute__((target_clones(\"avx2\",\"default\"))) void f();"}) {
    EXPECT_TRUE(verdict(source).contains("is not allowed in a candidate")) << source;
  }
  EXPECT_TRUE(verdict("auto a = b[[&] { asm(\".incbin x\"); return 0; }()];").contains("incbin"));
}

TEST(CpuSource, that_is_not_text_is_refused) {
  EXPECT_EQ(verdict(std::string_view("\x7f"
                                     "ELF\0",
                                     5)),
            "1: the source is not text: it has a NUL byte");
  EXPECT_EQ(verdict(""), "0: the source is empty");
}

// CPU time in seconds: other processes do not count.
double seconds_to_check(std::string_view piece, std::size_t size) {
  std::string source;
  while (source.size() + piece.size() <= size) source += piece;
  double fastest = 1e9;
  for (int i = 0; i < 3; ++i) {
    const std::clock_t start = std::clock();
    (void)check_cpu_source(source);
    fastest = std::min(fastest, static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC);
  }
  return fastest;
}

// Eight times the text takes 8 times as long in a linear reader, 64 times in a quadratic one.
TEST(CpuSource, a_hostile_source_is_checked_in_linear_time) {
  constexpr std::size_t kSize = std::size_t{1} << 15;
  constexpr double kResolution = 1e-3;  // below this the clock measures nothing
  for (std::string_view piece : {"*/#if ", "[[", "*//**/", "R\"(", "\"", "\\\n", "(", "#/**/",
                                 "#\n", "__attribute__((", "asm(\"\"", "/*", "?\?"}) {
    const double small = seconds_to_check(piece, kSize);
    const double large = seconds_to_check(piece, 8 * kSize);
    EXPECT_LT(large, 24 * std::max(small, kResolution)) << piece;
  }
}

TEST(LiteralValue, resolves_escapes) {
  EXPECT_EQ(literal_value(R"("a\n\x41\101\"\\z")"), "a\nAA\"\\z");
  EXPECT_EQ(literal_value("R\"x(a\\n)x\""), "a\\n");
  EXPECT_EQ(literal_value("u8\"\\u0041\""), "A");
  EXPECT_EQ(literal_value("\"open\\"), "open\\");
}

}  // namespace
}  // namespace specgen
