#include "evaluate/task/data_cuda_source.h"

#include <gtest/gtest.h>

#include <array>
#include <string>
#include <vector>

#include "evaluate/host/cuda_libraries.h"
#include "evaluate/host/dynamic_library.h"

namespace specgen {
namespace {

using Create = int(void**, const char*, const char*, int, const char* const*, const char* const*);
using Compile = int(void*, int, const char* const*);
using GetSize = int(void*, std::size_t*);
using GetText = int(void*, char*);
using Destroy = int(void**);

std::vector<std::string> nvrtc_libraries() {
  std::vector<std::string> all{"libnvrtc.so.13", "libnvrtc.so.12"};
  for (const std::string& folder : cuda_toolkit_folders())
    all.push_back(folder + "/lib64/libnvrtc.so");
  return all;
}

std::string text_of(const DynamicLibrary& library, void* program, const char* size_function,
                    const char* text_function) {
  std::size_t size = 0;
  EXPECT_EQ(library.function<GetSize>(size_function)(program, &size), 0);
  std::string text(size, '\0');
  EXPECT_EQ(library.function<GetText>(text_function)(program, text.data()), 0);
  return text;
}

TEST(InputKernelSource, compiles_without_includes_or_warnings) {
  auto library = DynamicLibrary::open(nvrtc_libraries());
  if (!library) GTEST_SKIP() << library.error().summary();
  void* program = nullptr;
  ASSERT_EQ(library->function<Create>("nvrtcCreateProgram")(&program, kInputKernelSource.data(),
                                                            "input.cu", 0, nullptr, nullptr),
            0);
  std::array options{"--gpu-architecture=sm_90"};
  int error = library->function<Compile>("nvrtcCompileProgram")(program, 1, options.data());
  std::string log = text_of(*library, program, "nvrtcGetProgramLogSize", "nvrtcGetProgramLog");
  EXPECT_EQ(error, 0);
  EXPECT_LE(log.size(), 1U) << log;
  if (error == 0) {
    std::string cubin = text_of(*library, program, "nvrtcGetCUBINSize", "nvrtcGetCUBIN");
    EXPECT_TRUE(cubin.substr(1).starts_with("ELF"));
    for (const char* kernel :
         {"specgen_fill", "specgen_poison", "specgen_compare", "specgen_compare_baseline"}) {
      EXPECT_TRUE(cubin.contains(kernel)) << kernel;
    }
  }
  library->function<Destroy>("nvrtcDestroyProgram")(&program);
}

}  // namespace
}  // namespace specgen
