#include "evaluate/cuda/nvrtc_process.h"

#include <fmt/core.h>
#include <unistd.h>

#include <memory>
#include <vector>

#include "base/text.h"
#include "evaluate/cuda/compile_protocol.h"
#include "evaluate/cuda/device_headers.h"
#include "evaluate/host/cuda_libraries.h"
#include "evaluate/host/dynamic_library.h"
#include "runtime/message_socket.h"

namespace specgen {
namespace {

constexpr int kSocket = 3;
using Program = void*;

// As NVRTC documents them; results are ints, 0 is success.
struct Nvrtc {
  int (*create)(Program*, const char* source, const char* name, int headers, const char* const*,
                const char* const*) = nullptr;
  int (*destroy)(Program*) = nullptr;
  int (*add_name)(Program, const char*) = nullptr;
  int (*compile)(Program, int options, const char* const*) = nullptr;
  int (*log_size)(Program, std::size_t*) = nullptr;
  int (*get_log)(Program, char*) = nullptr;
  int (*cubin_size)(Program, std::size_t*) = nullptr;
  int (*get_cubin)(Program, char*) = nullptr;
  int (*lowered_name)(Program, const char*, const char**) = nullptr;
  const char* (*error_text)(int) = nullptr;
};

template <class Function>
void find(const DynamicLibrary& library, const char* name, Function*& into, std::string& missing) {
  into = library.function<Function>(name);
  if (!into && missing.empty()) missing = name;
}

Result<Nvrtc> load_nvrtc() {
  DynamicLibrary library = TRY(DynamicLibrary::open(nvrtc_library_names()));
  Nvrtc n;
  std::string missing;
  find(library, "nvrtcCreateProgram", n.create, missing);
  find(library, "nvrtcDestroyProgram", n.destroy, missing);
  find(library, "nvrtcAddNameExpression", n.add_name, missing);
  find(library, "nvrtcCompileProgram", n.compile, missing);
  find(library, "nvrtcGetProgramLogSize", n.log_size, missing);
  find(library, "nvrtcGetProgramLog", n.get_log, missing);
  find(library, "nvrtcGetCUBINSize", n.cubin_size, missing);
  find(library, "nvrtcGetCUBIN", n.get_cubin, missing);
  find(library, "nvrtcGetLoweredName", n.lowered_name, missing);
  find(library, "nvrtcGetErrorString", n.error_text, missing);
  if (!missing.empty()) {
    return fail(ErrorCode::tool_missing, library.path().string() + " has no " + missing,
                "install CUDA 12 or newer");
  }
  return n;
}

std::vector<std::string> options_for(const CompileRequest& request, bool with_remarks) {
  std::vector<std::string> options{
      "--gpu-architecture=" + request.architecture,
      "--std=c++20",
      // Not --device-as-default-execution-space: it turns every constant of the vendor's C++
      // headers into a writable global, and those are refused.
      "--extra-device-vectorization",
      std::string("--pre-include=") + kDevicePrelude,
  };
  if (with_remarks) options.emplace_back("--ptxas-options=-v");
  for (const std::string& folder : request.include_folders) {
    options.push_back("--include-path=" + folder);
  }
  for (const auto& [name, value] : request.defines) {
    options.push_back(fmt::format("--define-macro={}={}", name, value));
  }
  return options;
}

std::string log_of(const Nvrtc& nvrtc, Program program) {
  std::size_t size = 0;
  if (nvrtc.log_size(program, &size) != 0 || size < 2) return {};
  std::string log(size, '\0');
  if (nvrtc.get_log(program, log.data()) != 0) return {};
  return std::string(log.c_str());
}

CompileAnswer compile(const Nvrtc& nvrtc, const CompileRequest& request, bool with_remarks) {
  Program program = nullptr;
  auto failed = [&](std::string_view doing, int code) {
    std::string log = program ? log_of(nvrtc, program) : "";
    if (!log.contains("error")) log += fmt::format("{}: error: {}", doing, nvrtc.error_text(code));
    return CompileAnswer{.log = std::move(log)};
  };
  DeviceHeaders headers = device_headers();
  if (int code = nvrtc.create(&program, request.source.c_str(), kCandidateFile.data(),
                              static_cast<int>(headers.texts.size()), headers.texts.data(),
                              headers.names.data())) {
    return failed("nvrtcCreateProgram", code);
  }
  for (const std::string& name : request.name_expressions) {
    if (int code = nvrtc.add_name(program, name.c_str())) return failed("kernel " + name, code);
  }
  std::vector<std::string> options = options_for(request, with_remarks);
  std::vector<const char*> pointers;
  for (const std::string& option : options) pointers.push_back(option.c_str());
  if (int code = nvrtc.compile(program, static_cast<int>(pointers.size()), pointers.data())) {
    // With verbose output the assembler leaves out some errors.
    if (with_remarks && !log_of(nvrtc, program).contains("error")) {
      return compile(nvrtc, request, false);
    }
    return failed("the compiler", code);
  }
  CompileAnswer answer{.ok = true, .log = log_of(nvrtc, program)};
  for (const std::string& name : request.name_expressions) {
    const char* lowered = nullptr;
    if (int code = nvrtc.lowered_name(program, name.c_str(), &lowered); code || !lowered) {
      return failed("there is no kernel " + name, code);
    }
    answer.lowered_names[name] = lowered;
  }
  std::size_t size = 0;
  if (int code = nvrtc.cubin_size(program, &size)) return failed("nvrtcGetCUBINSize", code);
  answer.cubin.resize(size);
  if (int code = nvrtc.get_cubin(program, answer.cubin.data())) {
    return failed("nvrtcGetCUBIN", code);
  }
  nvrtc.destroy(&program);
  return answer;
}

Result<void> serve(std::string architecture) {
  auto nvrtc = load_nvrtc();
  if (!nvrtc) {
    return send_message(kSocket, encode(CompileAnswer{.log = nvrtc.error().text()}));
  }
  // The first compilation in a process takes five times as long as the next.
  CompileRequest trivial{.source = "__global__ void warm(float* x) { *x = 1; }\n",
                         .architecture = std::move(architecture)};
  CompileAnswer warm = compile(*nvrtc, trivial, true);
  TRY(send_message(kSocket, encode(CompileAnswer{.ok = warm.ok, .log = std::move(warm.log)})));
  MessageReader reader(kSocket);
  auto message = TRY(reader.receive());
  if (!message) return {};  // not needed
  CompileRequest request = TRY(parse_compile_request(message->body));
  CompileAnswer answer = compile(*nvrtc, request, true);
  TRY(send_message(kSocket, encode(answer)));
  if (answer.ok) TRY(send_message(kSocket, answer.cubin));
  return {};
}

}  // namespace

int run_internal_nvrtc(std::span<const std::string> arguments) {
  auto served = serve(arguments.empty() ? "sm_80" : arguments.front());
  if (!served) fmt::print(stderr, "{}\n", served.error().summary());
  ::_exit(served ? 0 : 1);  // without the exit handlers of the vendor's library
}

}  // namespace specgen
