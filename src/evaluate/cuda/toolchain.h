#pragma once
// Compiles a CUDA candidate: directives, gates, NVRTC in a sandbox, a check of the binary. Uses no
// device: the architecture is a setting, so it works on a host without a GPU.

#include <filesystem>
#include <string>
#include <vector>

#include "evaluate/cuda/compile_pool.h"
#include "evaluate/judge/test_rig.h"

namespace specgen {

class CudaToolchain final : public Toolchain {
 public:
  // Sources may include from `allowed_folders` and the toolkit's own headers.
  CudaToolchain(CompilePoolSettings settings, std::vector<std::string> allowed_folders);

  Task<Result<Compiled>> compile(const KernelTask& task, std::string source,
                                 Values tunables) override;
  Task<Result<Compiled>> compile_baseline(const KernelTask& task) override;

  // For our own kernels: no gates, and a source that does not compile is an Error.
  Task<Result<std::string>> compile_ours(std::string_view source);

 private:
  std::string architecture_;
  std::vector<std::string> allowed_folders_;
  std::vector<std::string> include_folders_;
  CompilePool pool_;
};

// The toolkit's folder, links resolved; empty if there is none with headers.
std::string cuda_toolkit_folder();

// The toolkit's headers, and those of its C++ libraries if they are in another folder.
std::vector<std::string> cuda_include_folders();

// The verdict on a compilation, worded for the author of the source.
Finding judge_compilation(const Compilation& done, Duration limit);

}  // namespace specgen
