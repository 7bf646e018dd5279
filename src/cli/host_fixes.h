#pragma once
// The steps that fix what a host lacks, as commands where there is one. Package names are
// Debian's and Ubuntu's, those of CUDA from NVIDIA's own repository.

#include <string>
#include <string_view>

#include "evaluate/host/host.h"

namespace specgen {

std::string fix_for_compiler(const Tools& tools);
std::string fix_for_driver(const CudaReport& cuda);
std::string fix_for_counters(const CudaReport& cuda);

// A package of the toolkit, in the version that the driver supports. Without a GPU it would be
// useless: then the fix is another host.
std::string fix_for_cuda_package(const CudaReport& cuda, std::string_view package);

// A tool whose name comes from the settings is corrected there; `usual` is its name without settings.
std::string fix_for_tool(const Component& tool, std::string_view key, std::string_view usual,
                         std::string install);

std::string fix_for_python_package(const Component& python, std::string_view package);
std::string fix_for_bubblewrap(const SandboxFeatures& sandbox);
std::string fix_for_user_namespaces(const SandboxFeatures& sandbox);
std::string fix_for_cgroup(const SandboxFeatures& sandbox);

}  // namespace specgen
