#pragma once
// From a candidate's text to machine code: directives, gates, NVRTC in a sandbox, a look at the binary.
// Holds no device; what it compiles for is said when it is made, so it works on a host without a
// GPU.

#include <filesystem>
#include <string>
#include <vector>

#include "evaluate/cuda/compile_pool.h"
#include "evaluate/judge/test_rig.h"

namespace specgen {

class CudaToolchain final : public Toolchain {
 public:
  // Sources may include from `allowed_folders` beside the toolkit's own headers.
  CudaToolchain(CompilePoolSettings settings, std::vector<std::string> allowed_folders);

  Task<Result<Compiled>> compile(const KernelTask& task, std::string source,
                                 Values tunables) override;
  Task<Result<Compiled>> compile_baseline(const KernelTask& task) override;

  // Our own kernels: no gates, and a source that does not compile is our fault.
  Task<Result<std::string>> compile_ours(std::string_view source);

 private:
  std::string architecture_;
  std::vector<std::string> allowed_folders_;
  std::vector<std::string> include_folders_;
  CompilePool pool_;
};

// Where the toolkit lies, links resolved; empty if there is none with headers.
std::string cuda_toolkit_folder();

// The toolkit's headers, and those of its C++ libraries where they lie apart.
std::vector<std::string> cuda_include_folders();

// The verdict on a compilation, in words for the one who wrote the source.
Finding judge_compilation(const Compilation& done, Duration limit);

}  // namespace specgen
