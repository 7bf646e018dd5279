#include "evaluate/candidate/cuda_gate.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "base/file.h"
#include "base/temporary_folder.h"
#include "evaluate/candidate/elf_for_tests.h"
#include "evaluate/host/fake_tools.h"

namespace specgen {
namespace {

constexpr std::string_view kKernel =
    "// specgen:launch k<<<1, 1>>>(x)\n__global__ void k(float* x) { x[0] = 1; }\n";

std::string source_verdict(std::string_view source, std::vector<std::string> folders = {}) {
  auto result = check_cuda_source(source, folders);
  if (result) return "accepted";
  return std::to_string(result.error().line) + ": " + result.error().reason;
}
std::string with_kernel(std::string_view before, std::vector<std::string> folders = {}) {
  return source_verdict(std::string(before) + "\n" + std::string(kKernel), std::move(folders));
}

TEST(CudaSource, includes_what_is_on_the_list) {
  EXPECT_EQ(with_kernel("#include <cuda_fp16.h>\n#include <cuda/barrier>\n#include <mma.h>\n"
                        "#include <cuda/std/array>\n#include <cooperative_groups/reduce.h>\n"
                        "#include <cuda/ptx>\n#include <cuda.h>\n#pragma nv_diag_suppress 177"),
            "accepted");
  EXPECT_TRUE(with_kernel("#include <iostream>").starts_with("1: 'iostream' may not be included"));
  EXPECT_TRUE(with_kernel("#include <cuda/../../../etc/passwd>").contains("may not be included"));
  EXPECT_TRUE(with_kernel("#include </usr/include/stdio.h>").contains("may not be included"));
  EXPECT_TRUE(with_kernel("#inc\\\nlude \"stdio.h\"").contains("may not be included"));
  EXPECT_TRUE(with_kernel("#if __has_include(<x>)\n#endif").contains("__has_include"));
}

TEST(CudaSource, includes_what_lies_below_an_allowed_folder) {
  auto folder = TemporaryFolder::make();
  std::filesystem::create_directories(folder->path() / "cutlass/gemm");
  ASSERT_TRUE(write_file_durably(folder->path() / "cutlass/gemm/device.h", "#pragma once\n"));
  std::vector<std::string> allowed{(folder->path() / "no_such").string(), folder->path().string()};
  EXPECT_EQ(with_kernel("#include \"cutlass/gemm/device.h\"", allowed), "accepted");
  EXPECT_TRUE(with_kernel("#include \"cutlass/gemm/device.h\"").contains("may not be included"));
  EXPECT_TRUE(with_kernel("#include \"cutlass/gemm\"", allowed).contains("may not be included"));
  EXPECT_TRUE(with_kernel("#include \"cutlass/../cutlass/gemm/device.h\"", allowed)
                  .contains("may not be included"));
}

TEST(CudaSource, has_a_kernel_and_a_launch) {
  EXPECT_EQ(source_verdict("// specgen:launch k<<<1,1>>>()\n// __global__\nvoid k() {}"),
            "0: there is no kernel in it: __global__ void NAME(...) is expected");
  EXPECT_EQ(source_verdict("__global__ void k() {}\nint a; // specgen:launch k<<<1,1>>>()"),
            "0: there is no specgen:launch line");
}

TEST(CudaSource, has_ptx_but_no_files) {
  EXPECT_EQ(with_kernel("__device__ void f() { asm volatile(\"{ .reg .pred p; mov.u32 %0, 1; }\" "
                        ":: ); }"),
            "accepted");
  EXPECT_EQ(with_kernel("asm(\".inc\" \"bin x\");"), "1: asm may not hold '.incbin'");
}

std::string cubin_verdict(std::string_view elf) {
  auto result = check_cubin(elf);
  return result ? "accepted" : result.error().reason;
}

// One instruction with an operand of that form, in that bank.
std::string instruction(std::uint64_t form, std::uint64_t bank) {
  std::uint64_t word = 0x182U | form << 9U | bank << 54U;
  std::string bytes(16, '\0');
  std::memcpy(bytes.data(), &word, sizeof(word));
  return bytes;
}
const std::string kReadsAddress = instruction(5, 4);

TEST(Cubin, made_by_hand_is_judged_by_its_sections_and_symbols) {
  auto made = [](const std::function<void(ElfBuilder&)>& more) {
    ElfBuilder builder(EM_CUDA);
    std::size_t code =
        builder.add_section(".text.k", SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, kReadsAddress);
    builder.add_section(".nv.constant0.k", SHT_PROGBITS, SHF_ALLOC, "1234");
    builder.add_section(".nv.shared.k", SHT_NOBITS, SHF_ALLOC | SHF_WRITE, "", 512);
    builder.add_symbol("k", STT_FUNC, STB_GLOBAL, code);
    more(builder);
    return builder.build();
  };
  EXPECT_EQ(cubin_verdict(made([](auto&) {})), "accepted");
  EXPECT_EQ(cubin_verdict(made([](ElfBuilder& builder) {
              std::size_t global =
                  builder.add_section(".nv.global", SHT_NOBITS, SHF_ALLOC | SHF_WRITE, "", 20);
              builder.add_symbol("cache", STT_OBJECT, STB_LOCAL, global, 20);
            })),
            "it keeps state between calls (20 bytes of device globals, 'cache'): use // "
            "specgen:scratch, or __constant__ for tables");
  for (std::string name : {".nv.global.init.k", ".nv.managed", ".data", ".nv.global.init"}) {
    EXPECT_TRUE(cubin_verdict(made([&](ElfBuilder& builder) {
                  builder.add_section(name, SHT_PROGBITS, SHF_ALLOC | SHF_WRITE, "1234");
                })).contains("state between calls"))
        << name;
  }
  EXPECT_EQ(cubin_verdict(made([](ElfBuilder& builder) {
              builder.add_section(".nv.global", SHT_NOBITS, SHF_ALLOC | SHF_WRITE, "", 0);
              builder.add_symbol(".nv.reservedSmem.offset0", STT_OBJECT, STB_WEAK, 0, 4);
            })),
            "accepted");
  auto with_symbol = [&](std::string_view name) {
    return cubin_verdict(
        made([&](ElfBuilder& builder) { builder.add_symbol(name, STT_FUNC, STB_GLOBAL, 0); }));
  };
  EXPECT_EQ(with_symbol("vprintf"), "it prints (printf): a candidate cannot");
  EXPECT_TRUE(with_symbol("malloc").contains("specgen:scratch"));
  EXPECT_TRUE(with_symbol("__assertfail").contains("assert()"));
  EXPECT_TRUE(with_symbol("cudaLaunchDeviceV2").contains("specgen:launch"));
  EXPECT_TRUE(with_symbol("__cudaCDP2LaunchDeviceV2").contains("specgen:launch"));
  EXPECT_EQ(with_symbol("_Z5thingi"), "it calls 'thing(int)', which is defined nowhere");
  EXPECT_EQ(cubin_verdict(ElfBuilder(EM_X86_64).build()), "the binary is not a cubin");
}

TEST(Cubin, globals_whose_address_no_code_can_obtain_are_not_state) {
  auto with_code = [](const std::string& code, std::string_view relocations = {}) {
    ElfBuilder builder(EM_CUDA);
    std::size_t text =
        builder.add_section(".text.k", SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, code);
    builder.add_symbol("k", STT_FUNC, STB_GLOBAL, text);
    std::size_t data =
        builder.add_section(".nv.global.init", SHT_PROGBITS, SHF_ALLOC | SHF_WRITE, "12345678");
    builder.add_symbol("kTile", STT_OBJECT, STB_LOCAL, data);
    if (!relocations.empty())
      builder.add_section(std::string(relocations), SHT_RELA, 0, std::string(24, '\0'));
    return cubin_verdict(builder.build());
  };
  const std::string harmless = instruction(5, 0) + instruction(5, 3);
  EXPECT_EQ(with_code(harmless), "accepted");
  EXPECT_EQ(with_code(harmless, ".rela.nv.constant4"), "accepted");
  EXPECT_EQ(with_code(harmless, ".rela.debug_frame"), "accepted");
  EXPECT_TRUE(with_code(harmless, ".rela.text.k").contains("'kTile'"));
  EXPECT_TRUE(with_code(harmless, ".rela.nv.constant3").contains("'kTile'"));
  EXPECT_TRUE(with_code(harmless + kReadsAddress).contains("'kTile'"));
  for (std::uint64_t form : {0U, 2U, 3U, 6U, 7U}) {
    EXPECT_TRUE(with_code(instruction(form, 4)).contains("'kTile'")) << form;
  }
  // The same bits are part of a number or nothing there.
  for (std::uint64_t form : {1U, 4U}) EXPECT_EQ(with_code(instruction(form, 4)), "accepted");
}

TEST(Cubin, reports_registers_in_the_old_way_too_and_survives_damage) {
  ElfBuilder builder(EM_CUDA);
  std::size_t code =
      builder.add_section(".text.k", SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, "code");
  builder.header(code).sh_info = 40U << 24U;
  builder.add_section(".nv.constant0.k", SHT_PROGBITS, SHF_ALLOC, "1234");
  builder.add_section(".nv.shared.k", SHT_NOBITS, SHF_ALLOC | SHF_WRITE, "", 512);
  builder.add_section(".nv.info", SHT_PROGBITS, 0, std::string("\x04\x2f\xff\xff\x01", 5));
  builder.add_symbol("k", STT_FUNC, STB_GLOBAL, code);
  std::string good = builder.build();
  auto facts = cubin_facts(good);
  ASSERT_TRUE(facts);
  ASSERT_EQ(facts->kernels.size(), 1U);
  EXPECT_EQ(facts->kernels[0].registers, 40);
  EXPECT_EQ(facts->kernels[0].static_shared_bytes, 512);
  EXPECT_EQ(facts->kernels[0].code_bytes, 4);
  damage(good, [](std::string_view bytes) {
    (void)check_cubin(bytes);
    (void)cubin_facts(bytes);
  });
  EXPECT_FALSE(check_cubin(std::string_view(good).substr(0, good.size() - 1)));
}

class RealCubin : public testing::Test {
 protected:
  void SetUp() override {
    nvcc_ = find_program("nvcc");
    if (nvcc_.empty()) nvcc_ = find_program("/usr/local/cuda/bin/nvcc");
    if (nvcc_.empty() || !std::filesystem::exists(nvcc_)) {
      GTEST_SKIP() << "there is no nvcc: nothing is known of what it makes";
    }
  }
  std::string compiled(std::string_view source, std::vector<std::string> more = {}) {
    auto folder = TemporaryFolder::make();
    std::filesystem::path file = folder->path() / "candidate.cu";
    std::filesystem::path cubin = folder->path() / "candidate.cubin";
    EXPECT_TRUE(write_file_durably(file, source));
    std::vector<std::string> argv{nvcc_.string(), "-cubin", "-arch=sm_90"};
    argv.insert(argv.end(), more.begin(), more.end());
    argv.insert(argv.end(), {file.string(), "-o", cubin.string()});
    auto done = fixture_.run(fixture_.processes.run({.argv = argv}));
    if (!done || !done->exit.ok()) {
      ADD_FAILURE() << (done ? done->error_output : done.error().summary());
      return {};
    }
    return read_file(cubin).value_or("");
  }

  std::filesystem::path nvcc_;
  ToolFixture fixture_;
};

TEST_F(RealCubin, reports_what_its_kernels_use) {
  std::string cubin = compiled(R"(
__constant__ float weights[4];
extern "C" __global__ void first(const float* x, float* y, int n) {
  __shared__ float s[128];
  float l[64];
  for (int j = 0; j < 64; j++) l[j] = x[(threadIdx.x * j) % n];
  s[threadIdx.x] = l[(int)x[threadIdx.x] & 63] * weights[n & 3];
  __syncthreads();
  y[threadIdx.x] = s[n - threadIdx.x];
}
extern "C" __global__ void second(float* y) { y[threadIdx.x] = 1; }
)");
  EXPECT_EQ(cubin_verdict(cubin), "accepted");
  auto facts = cubin_facts(cubin);
  ASSERT_TRUE(facts);
  ASSERT_EQ(facts->kernels.size(), 2U);
  auto named = [&](std::string_view name) {
    return *std::ranges::find(facts->kernels, name, &KernelFacts::name);
  };
  KernelFacts first = named("first");
  EXPECT_GT(first.registers, 8);
  EXPECT_LE(first.registers, 255);
  EXPECT_EQ(first.static_shared_bytes, 512);
  EXPECT_GE(first.local_bytes, 256);
  EXPECT_EQ(first.constant_bytes, 16);
  KernelFacts second = named("second");
  EXPECT_EQ(second.static_shared_bytes, 0);
  EXPECT_EQ(second.local_bytes, 0);
  EXPECT_GT(first.code_bytes, second.code_bytes);
  EXPECT_GT(second.code_bytes, 0);
}

TEST_F(RealCubin, that_keeps_state_prints_asks_for_memory_or_launches_is_refused) {
  EXPECT_EQ(cubin_verdict(compiled(
                "__device__ float cache[5];\n__global__ void k(float* y) { y[1] = cache[3]; "
                "cache[threadIdx.x] = y[0]; }")),
            "it keeps state between calls (20 bytes of device globals, 'cache'): use // "
            "specgen:scratch, or __constant__ for tables");
  EXPECT_TRUE(
      cubin_verdict(compiled("__device__ int calls = 3;\n__global__ void k(int* y) { y[0] = "
                             "calls++; }"))
          .contains("'calls'"));
  EXPECT_TRUE(cubin_verdict(compiled("__managed__ int calls;\n__global__ void k(int* y) { y[0] = "
                                     "calls++; }"))
                  .contains("'calls'"));
  EXPECT_TRUE(
      cubin_verdict(compiled("#include <cstdio>\n__global__ void k(int* y) { printf(\"%d\", "
                             "y[0]); }"))
          .starts_with("it prints"));
  EXPECT_TRUE(cubin_verdict(compiled("__global__ void k(int** y) { y[0] = (int*)malloc(8); }"))
                  .starts_with("it allocates memory"));
  EXPECT_TRUE(
      cubin_verdict(compiled("#include <cassert>\n__global__ void k(int* y) { assert(y[0]); "
                             "y[1] = 2; }"))
          .starts_with("it asserts"));
  EXPECT_TRUE(cubin_verdict(compiled("__global__ void c(int* y) { y[0] = 1; }\n__global__ void "
                                     "k(int* y) { c<<<1, 1>>>(y); }",
                                     {"-rdc=true"}))
                  .contains("launches from the device"));
}

}  // namespace
}  // namespace specgen
