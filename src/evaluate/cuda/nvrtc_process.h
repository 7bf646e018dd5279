#pragma once
// The process that compiles CUDA source: this same program called as `PROGRAM internal-nvrtc`, in
// the sandbox, with a message socket as descriptor 3. It loads NVRTC, warms it up with a trivial
// kernel, reports that it is ready, answers one request (compile_protocol.h) and ends: what a
// source does to the compiler cannot affect the next source.

#include <span>
#include <string>

namespace specgen {

inline constexpr const char* kInternalNvrtc = "internal-nvrtc";
int run_internal_nvrtc(std::span<const std::string> arguments);

}  // namespace specgen
