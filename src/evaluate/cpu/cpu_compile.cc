#include "evaluate/cpu/cpu_compile.h"

#include <fmt/format.h>

#include <filesystem>

#include "base/cache_folder.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/text.h"
#include "evaluate/cpu/precompiled_header.h"
#include "evaluate/host/machine.h"

namespace specgen {
namespace fs = std::filesystem;
namespace {

constexpr Bytes kMaxObjectSize = MiB(64);

// For a string literal of C++.
std::string in_quotes(std::string_view text) {
  std::string escaped;
  for (char c : text) {
    if (c == '"' || c == '\\') escaped += '\\';
    escaped += c;
  }
  return escaped;
}

// The flags that affect how a header is parsed, and so whether a precompiled one can be used: all
// but the task's macros, which the headers do not use (the compiler checks that), and remarks.
std::vector<std::string> flags_of_headers(const std::vector<std::string>& flags) {
  std::vector<std::string> kept{"-fPIC"};
  for (const std::string& flag : flags) {
    if (!flag.starts_with("-D") && !flag.starts_with("-fopt-info")) kept.push_back(flag);
  }
  return kept;
}

// The limits on time, output and memory are the source's fault; any other error is not.
Result<CpuObject> object_from(Result<Finished> finished, Duration time_limit,
                              bool killed_for_memory) {
  CpuObject object;
  if (!finished) {
    ErrorCode code = finished.error().code;
    if (code != ErrorCode::timeout && code != ErrorCode::output_limit) {
      return std::unexpected(std::move(finished).error());
    }
    object.log = code == ErrorCode::timeout
                     ? fmt::format("the compiler took longer than {}", format_duration(time_limit))
                     : "the compiler wrote more than its limit";
    return object;
  }
  object.log = std::move(finished->error_output);
  object.ok = finished->exit.ok() && !finished->output.empty();
  if (object.ok) {
    object.binary = std::move(finished->output);
  } else if (killed_for_memory) {
    object.log = "the compiler used more memory than its sandbox has";
  } else if (trim(object.log).empty()) {
    object.log = "the compiler ended with " + to_string(finished->exit);
  }
  return object;
}

}  // namespace

std::string compile_identity(const std::string& compiler, const std::vector<std::string>& argv,
                             const std::string& text) {
  std::error_code error;
  fs::path program = fs::canonical(find_program(compiler), error);
  auto size = fs::file_size(program, error);
  auto changed = fs::last_write_time(program, error).time_since_epoch().count();
  return sha256_hex(fmt::format("{} {} {} {}\n{}\n{}", program.string(), size, changed, cpu_model(),
                                fmt::join(argv, "\n"), text));
}

std::string_view candidate_prelude() {
  return R"(#include <stddef.h>
#include <stdint.h>
extern "C" void specgen_barrier();
struct specgen_bf16 {
  uint16_t bits;
  specgen_bf16() = default;
  specgen_bf16(float value) {
    uint32_t word;
    __builtin_memcpy(&word, &value, 4);
    bits = value != value ? 0x7fc0 : static_cast<uint16_t>((word + 0x7fff + (word >> 16 & 1)) >> 16);
  }
  operator float() const {
    uint32_t word = static_cast<uint32_t>(bits) << 16;
    float value;
    __builtin_memcpy(&value, &word, 4);
    return value;
  }
};
)";
}

Task<Result<CpuObject>> compile_cpu(JudgeContext& context, CpuSource source) {
  // The object is written to the sandbox's own /tmp, because a linker must be able to seek, and
  // then to standard output.
  std::error_code error;
  fs::path compiler = fs::absolute(find_program(context.compiler), error);
  if (error) co_return fail(ErrorCode::tool_missing, context.compiler);
  std::vector<std::string> argv{"sh", "-c",
                                R"(o="${TMPDIR:-/tmp}/object.so"; "$@" -o "$o" && cat "$o")", "sh",
                                compiler.string()};
  const auto first_flag = static_cast<std::ptrdiff_t>(argv.size());
  for (const char* flag :
       {"-x", "c++", "-", "-shared", "-fPIC", "-pipe", "-nostartfiles", "-Wl,-z,now",
        "-Wl,-z,relro", "-Wl,-z,noexecstack", "-Wl,--build-id=none"}) {
    argv.emplace_back(flag);
  }
  argv.insert(argv.end(), source.flags.begin(), source.flags.end());
  argv.emplace_back("-lm");
  std::string text = source.prelude;
  if (!source.declarations.empty()) {
    text += fmt::format("\n#line 1 \"{}\"\n{}", kDeclarations, source.declarations);
  }
  text += fmt::format("\n#line 1 \"{}\"\n{}\n", in_quotes(source.name), source.text);

  std::optional<fs::path> cached;
  if (source.keep) {
    if (auto folder = cache_folder("objects")) {
      cached = *folder / (compile_identity(context.compiler, argv, text) + ".so");
      if (auto binary = read_file(*cached, kMaxObjectSize)) {
        co_return CpuObject{.ok = true, .binary = std::move(*binary), .log = {}};
      }
    }
  }
  SandboxView view;
  if (!source.headers.empty()) {
    std::string opening = source.prelude;
    for (const std::string& header : source.headers)
      opening += fmt::format("#include <{}>\n", header);
    auto ready = co_await precompile(context, std::move(opening), flags_of_headers(source.flags));
    if (ready) {
      argv.insert(argv.begin() + first_flag, {"-include", ready->header.string()});
      view.read_only.push_back(ready->folder);
      text = text.substr(source.prelude.size());
    }
  }
  Command command{.argv = std::move(argv),
                  .input = std::move(text),
                  .output_limit = kMaxObjectSize,
                  .time_limit = source.time_limit};
  SandboxLimits limits{.memory = GiB(4), .processes = 32, .cpu_time = source.time_limit};
  SandboxedCommand sandboxed =
      CO_TRY(context.sandbox.wrap(std::move(command), limits, std::move(view)));
  Time start = context.loop.now();
  auto finished = co_await context.processes.run(sandboxed.command);
  CpuObject object = CO_TRY(
      object_from(std::move(finished), source.time_limit, sandboxed.resources.killed_for_memory()));
  object.took = context.loop.now() - start;
  // If the cache cannot be written, the next run compiles again.
  if (object.ok && cached) (void)write_file_durably(*cached, object.binary);
  co_return object;
}

}  // namespace specgen
