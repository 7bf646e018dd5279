#include <gtest/gtest.h>

#include "base/file.h"
#include "base/temporary_folder.h"
#include "evaluate/candidate/cpu_gate.h"
#include "evaluate/candidate/elf_for_tests.h"
#include "evaluate/host/fake_tools.h"

namespace specgen {
namespace {

constexpr std::string_view kEntry =
    "extern \"C\" void softmax(const float* x, float* y, long n, void* scratch, int tid, int "
    "nthreads)";

class CpuBinary : public testing::Test {
 protected:
  void SetUp() override {
    if (find_program("g++").empty()) GTEST_SKIP() << "there is no g++ to compile candidates with";
  }

  std::string compiled(std::string_view source, std::vector<std::string> more = {}) {
    auto folder = TemporaryFolder::make();
    std::filesystem::path file = folder->path() / "candidate.cc";
    std::filesystem::path object = folder->path() / "candidate.so";
    EXPECT_TRUE(write_file_durably(file, source));
    std::vector<std::string> argv{"g++",
                                  "-shared",
                                  "-fPIC",
                                  "-O2",
                                  "-std=c++20",
                                  "-nostartfiles",
                                  "-fno-exceptions",
                                  "-fno-rtti",
                                  "-fvisibility=default",
                                  "-Wl,-z,now",
                                  "-Wl,-z,relro",
                                  "-Wl,-z,noexecstack",
                                  "-static-libgcc"};
    argv.insert(argv.end(), more.begin(), more.end());
    argv.insert(argv.end(), {file.string(), "-o", object.string()});
    auto done = fixture_.run(fixture_.processes.run({.argv = argv}));
    if (!done || !done->exit.ok()) {
      ADD_FAILURE() << (done ? done->error_output : done.error().summary());
      return {};
    }
    return read_file(object).value_or("");
  }
  static std::string judged(std::string_view elf) {
    auto result = check_cpu_binary(elf, "softmax");
    return result ? "accepted" : result.error().reason;
  }
  std::string verdict(std::string_view source, std::vector<std::string> more = {}) {
    return judged(compiled(source, std::move(more)));
  }
  // The entry with this body, behind what is declared.
  std::string verdict_of(std::string_view body, std::string_view before = "",
                         std::vector<std::string> more = {}) {
    return verdict(
        std::string(before) + "\n" + std::string(kEntry) + " {\n" + std::string(body) + "\n}\n",
        std::move(more));
  }

  ToolFixture fixture_;
};

TEST_F(CpuBinary, that_computes_with_libm_tables_and_the_barrier_is_accepted) {
  std::string_view declared = R"(#include <cmath>
#include <cstring>
#include <algorithm>
extern "C" void specgen_barrier();
static const double kTable[3] = {1, 2, 3};
static const char* const kNames[2] = {"a", "b"};
)";
  std::string_view body = R"(
    for (long i = tid; i < n; i += nthreads) y[i] = std::exp(x[i]) * kTable[i % 3] + std::erf(x[i]);
    specgen_barrier();
    std::memcpy(scratch, y, n); std::memset(y, 0, n); std::sort(y, y + n);
    y[0] = kNames[n & 1][0] + std::fma(x[0], x[1], x[2]) + powf(x[0], 3.5f) + std::isnan(x[3]);)";
  EXPECT_EQ(verdict_of(body, declared), "accepted");
  EXPECT_EQ(verdict_of(body, declared, {"-O3", "-ffast-math", "-march=native"}), "accepted");
  EXPECT_EQ(verdict_of(body, declared, {"-g", "-O0"}), "accepted");
  EXPECT_EQ(verdict_of(body, declared, {"-s"}), "accepted");
}

TEST_F(CpuBinary, that_keeps_state_is_refused_with_its_name) {
  EXPECT_EQ(verdict_of("y[0] = cache[n]; cache[n] = 1;", "static int cache[3];"),
            "it keeps state between calls (12 bytes of writable data, symbol 'cache')");
  EXPECT_EQ(verdict_of("y[0] = ns::calls++;", "namespace ns { long calls = 7; }"),
            "it keeps state between calls (8 bytes of writable data, symbol 'ns::calls')");
  EXPECT_EQ(verdict_of("static float last; y[0] = last; last = x[0];"),
            "it keeps state between calls (4 bytes of writable data, symbol 'softmax::last')");
  EXPECT_TRUE(verdict_of("y[0] = cache[n]; cache[n] = 1;", "static int cache[3];", {"-s"})
                  .starts_with("it keeps state between calls ("));
  EXPECT_TRUE(verdict_of("y[0] = count++;", "thread_local int count;").contains("thread_local"));
  EXPECT_TRUE(
      verdict_of("static float first = x[0]; y[0] = first;").contains("state between calls"));
}

TEST_F(CpuBinary, that_asks_for_memory_threads_or_the_system_learns_what_to_do_instead) {
  EXPECT_EQ(verdict_of("float* p = new float[n]; p[tid] = 1; g(p); y[0] = p[1]; delete[] p;",
                       "__attribute__((noinline)) void g(float* p) { asm volatile(\"\" :: \"r\"(p) "
                       ": \"memory\"); }"),
            "it allocates memory (operator new[](unsigned long)): use // specgen:scratch");
  EXPECT_TRUE(verdict_of("std::vector<float> v(x, x + n); y[0] = v[tid]; y[1] = v.size();",
                         "#include <vector>")
                  .contains("use // specgen:scratch"));
  EXPECT_EQ(verdict_of("y = (float*)malloc(n); g(y);",
                       "#include <cstdlib>\n__attribute__((noinline)) void g(float* p) { asm "
                       "volatile(\"\" :: \"r\"(p) : \"memory\"); }"),
            "it allocates memory (malloc): use // specgen:scratch");
  EXPECT_TRUE(verdict_of("std::thread([=] { y[0] = x[0]; }).join();", "#include <thread>")
                  .contains("the harness calls it on tid 0..nthreads-1"));
  EXPECT_TRUE(verdict_of("printf(\"%f\", x[0]);", "#include <cstdio>").contains("it prints"));
  EXPECT_TRUE(verdict_of("y[0] = clock();", "#include <ctime>").contains("it reads the time"));
  EXPECT_EQ(verdict_of("exit(0);", "#include <cstdlib>"),
            "it ends the program (exit): leave checks of that kind out");
  EXPECT_TRUE(verdict_of("syscall(1);", "#include <unistd.h>").contains("it calls the system"));
  EXPECT_EQ(verdict_of("cblas_sgemm();", "extern \"C\" void cblas_sgemm();"),
            "it calls 'cblas_sgemm': only libm's functions, memcpy, memmove, memset, memcmp and "
            "specgen_barrier are there");
  EXPECT_TRUE(verdict_of("fetch(); y[0] = 1;", "extern \"C\" void fetch() asm(\"dlopen\");")
                  .contains("(dlopen)"));
}

TEST_F(CpuBinary, that_runs_code_when_it_is_loaded_is_refused) {
  std::string_view state = "it runs code when it is loaded or unloaded";
  EXPECT_TRUE(verdict_of("", "__attribute__((constructor)) void early() { asm(\"\"); }")
                  .starts_with(state));
  EXPECT_TRUE(
      verdict_of("", "__attribute__((destructor)) void late() { asm(\"\"); }").starts_with(state));
  EXPECT_TRUE(verdict_of("", "extern \"C\" void _init() {}").starts_with(state));
  EXPECT_TRUE(verdict_of("", "extern \"C\" void _fini() {}").starts_with(state));
  EXPECT_TRUE(verdict_of("", "extern \"C\" void go() {}", {"-Wl,-init,go"}).starts_with(state));
  std::string chosen =
      "extern \"C\" { static void one() {} void* pick() { return (void*)one; } void f() "
      "__attribute__((ifunc(\"pick\"))); }";
  EXPECT_TRUE(verdict_of("f();", chosen).contains("(ifunc)"));
  EXPECT_TRUE(verdict_of("f();",
                         "extern \"C\" { static void one() {} static void* pick() { return "
                         "(void*)one; } static void f() __attribute__((ifunc(\"pick\"))); }")
                  .contains("(ifunc)"));
}

TEST_F(CpuBinary, must_have_the_function) {
  EXPECT_EQ(verdict("extern \"C\" void other() {}"),
            "it does not define the function 'softmax'. Expected: extern \"C\" void softmax(...)");
  EXPECT_EQ(verdict("void softmax(int) {}"),
            "it does not define the function 'softmax'; 'softmax(int)' lacks extern \"C\" or has "
            "other parameters. Expected: extern \"C\" void softmax(...)");
  EXPECT_TRUE(verdict("extern \"C\" const int softmax = 3;")
                  .starts_with("it does not define the function"));
  EXPECT_TRUE(verdict("extern \"C\" void softmax(); void g() { softmax(); }")
                  .starts_with("it does not define the function"));
  EXPECT_TRUE(verdict("extern \"C\" __attribute__((visibility(\"hidden\"))) void softmax() {}")
                  .starts_with("it does not define the function"));
}

TEST_F(CpuBinary, must_be_linked_as_the_harness_does) {
  EXPECT_EQ(verdict_of("", "", {"-Wl,-z,execstack"}), "it requires an executable stack");
  EXPECT_TRUE(verdict_of("y[0] = x[0];", "", {"-Wl,-z,norelro"}).starts_with("it keeps state"));
  EXPECT_EQ(verdict_of("", "", {"-Wl,-rpath,/tmp"}),
            "the binary names places to load libraries from");
  EXPECT_EQ(verdict_of("", "", {"-Wl,--no-as-needed", "-lresolv"}),
            "it needs the library 'libresolv.so.2': only libm is available");
}

TEST_F(CpuBinary, that_is_damaged_is_refused_or_understood_but_never_trusted_blindly) {
  std::string good = compiled(std::string(kEntry) +
                              " { y[0] = __builtin_expf(x[0]); __builtin_memcpy(scratch, x, n); }");
  ASSERT_EQ(judged(good), "accepted");
  EXPECT_EQ(judged(""), "the binary is damaged: it is not an ELF file");
  EXPECT_EQ(judged("\x7f"
                   "ELF"),
            "the binary is damaged: it is not an ELF file");
  // The sections are at the end of the file: without its last byte it is not whole.
  EXPECT_NE(judged(std::string_view(good).substr(0, good.size() - 1)), "accepted");
  std::size_t looked = 0;
  damage(good, [&](std::string_view bytes) {
    judged(bytes);
    ++looked;
  });
  EXPECT_GT(looked, 4000U);
}

TEST_F(CpuBinary, cannot_show_one_table_of_symbols_and_load_another) {
  std::string good = compiled(std::string(kEntry) + " { y[0] = __builtin_expf(x[0]); }");
  Elf64_Ehdr header;
  std::memcpy(&header, good.data(), sizeof(header));
  for (std::size_t i = 0; i < header.e_shnum; ++i) {
    std::size_t at = header.e_shoff + i * sizeof(Elf64_Shdr);
    Elf64_Shdr section;
    std::memcpy(&section, good.data() + at, sizeof(section));
    if (section.sh_type != SHT_DYNSYM) continue;
    std::string changed = good;
    section.sh_addr += 24;
    std::memcpy(changed.data() + at, &section, sizeof(section));
    EXPECT_EQ(judged(changed), "the binary is damaged: its symbols are in two places");
  }
}

}  // namespace
}  // namespace specgen
