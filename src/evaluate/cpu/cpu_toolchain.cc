#include "evaluate/cpu/cpu_toolchain.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "base/text.h"
#include "evaluate/candidate/cpu_gate.h"
#include "evaluate/cpu/cpu_compile.h"
#include "evaluate/cpu/precompiled_header.h"
#include "evaluate/host/tool_run.h"
#include "evaluate/task/signature.h"

namespace specgen {
namespace {

constexpr std::string_view kName = "candidate.cc";

Finding refused(const Rejection& rejection) {
  return {.verdict = Verdict::rejected,
          .evidence = {.text = rejection.reason, .line = rejection.line}};
}

std::vector<std::string> flags_for(const KernelTask& task, const Values& tunables, bool is_gcc) {
  std::vector<std::string> flags{"-O3",
                                 "-march=native",
                                 "-std=c++20",
                                 "-fno-exceptions",
                                 "-fno-rtti",
                                 "-fno-stack-protector",
                                 "-fno-threadsafe-statics",
                                 "-fno-plt"};
  flags.push_back(is_gcc ? "-fopt-info-vec-optimized-missed" : "-Rpass=loop-vectorize");
  if (!is_gcc) flags.emplace_back("-Rpass-missed=loop-vectorize");
  flags.push_back(fmt::format("-DSPECGEN_DTYPE={}", cpu_type(task.element)));
  for (const auto& [name, value] : tunables) flags.push_back(fmt::format("-D{}={}", name, value));
  flags.insert(flags.end(), task.cpu_flags.begin(), task.cpu_flags.end());
  return flags;
}

// With the signature that was expected, if that is what the compiler complains about.
Finding compile_error(const std::string& log, const KernelTask& task) {
  Finding found{.verdict = Verdict::compile_error,
                .evidence = {.text = shortened_log(log, 20), .line = first_error_line(log, kName)}};
  if (differs_from_signature(log)) {
    found.evidence.text =
        fmt::format("{}\nExpected: {}", trim(found.evidence.text), cpu_signature(task));
  }
  return found;
}

bool is_error_line(std::string_view line) {
  return line.find("error:") != std::string_view::npos ||
         line.find("undefined reference") != std::string_view::npos;
}

}  // namespace

std::string shortened_log(std::string_view log, std::size_t max_lines) {
  std::vector<std::string> kept;
  bool in_error = false;  // the lines below an error belong to it
  for (std::string_view line : split(log, '\n')) {
    bool is_remark = line.find("optimized:") != std::string_view::npos ||
                     line.find("missed:") != std::string_view::npos ||
                     line.find("remark:") != std::string_view::npos;
    if (is_error_line(line)) in_error = true;
    if (is_remark) in_error = false;
    if (in_error && kept.size() < max_lines) kept.push_back(printable(line));
  }
  if (kept.empty()) {
    for (std::string_view line : split(log, '\n')) {
      if (kept.size() < max_lines && !trim(line).empty()) kept.push_back(printable(line));
    }
  }
  return join(kept, "\n");
}

bool differs_from_signature(std::string_view log) {
  return std::ranges::any_of(split(log, '\n'), [](std::string_view line) {
    return line.starts_with(kDeclarations) && line.find("note:") != std::string_view::npos;
  });
}

int first_error_line(std::string_view log, std::string_view name) {
  for (std::string_view line : split(log, '\n')) {
    if (!is_error_line(line) || !line.starts_with(name)) continue;
    std::string_view rest = line.substr(std::min(line.size(), name.size() + 1));
    int number = 0;
    auto [end, trouble] = std::from_chars(rest.data(), rest.data() + rest.size(), number);
    return trouble == std::errc() && number > 0 ? number : 0;
  }
  return 0;
}

Task<Result<Compiled>> CpuToolchain::compile(const KernelTask& task, std::string source,
                                             Values tunables) {
  return compile_as(task, std::move(source), std::move(tunables), false);
}

Task<Result<Compiled>> CpuToolchain::compile_baseline(const KernelTask& task) {
  return compile_as(task, task.baseline_cc, {}, true);
}

Task<Result<Compiled>> CpuToolchain::compile_as(const KernelTask& task, std::string source,
                                                Values tunables, bool trusted) {
  Compiled compiled;
  auto directives = parse_directives(source);
  if (!directives) {
    compiled.finding = refused(directives.error());
    co_return compiled;
  }
  auto values = tunable_values(*directives, tunables);
  auto passes = check_cpu_source(source);
  if (!values || !passes) {
    compiled.finding = refused(values ? passes.error() : values.error());
    co_return compiled;
  }
  bool is_gcc = context_.compiler.find("clang") == std::string::npos;
  CpuSource text{.prelude = std::string(candidate_prelude()),
                 .declarations = cpu_declaration(task),
                 .text = source,
                 .name = std::string(kName),
                 .headers = {},
                 .flags = flags_for(task, *values, is_gcc),
                 .keep = trusted};
  // Trusted sources are cached as objects and need no precompiled header.
  if (is_gcc && !trusted) text.headers = slow_headers(source);
  CpuObject object = CO_TRY(co_await compile_cpu(context_, std::move(text)));
  compiled.took = object.took;
  // g++ only warns if the conflicting function is in a namespace.
  if (!object.ok || differs_from_signature(object.log)) {
    compiled.finding = compile_error(object.log, task);
    co_return compiled;
  }
  if (auto clean = check_cpu_binary(object.binary, task.name, cpu_signature(task)); !clean) {
    compiled.finding = refused(clean.error());
    co_return compiled;
  }
  compiled.program = {.source = std::move(source),
                      .directives = std::move(*directives),
                      .tunables = std::move(*values),
                      .binary = std::move(object.binary),
                      .remarks = std::move(object.log)};
  co_return compiled;
}

}  // namespace specgen
