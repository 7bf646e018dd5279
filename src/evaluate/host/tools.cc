#include "evaluate/host/tools.h"

#include <fmt/core.h>

#include <algorithm>
#include <boost/json.hpp>
#include <charconv>

#include "base/file.h"
#include "base/text.h"
#include "evaluate/host/cuda_libraries.h"
#include "evaluate/host/tool_run.h"

namespace specgen {
namespace fs = std::filesystem;
namespace {

// Whether the program is there, and where.
bool note_place(Component& into, const fs::path& program) {
  into.found = !program.empty();
  into.path = program.string();
  if (!into.found) {
    into.works = false;
    into.problem =
        into.name.find('/') == std::string::npos ? "not on PATH" : "not an executable file";
  }
  return into.found;
}

void note(Component& into, const ToolRun& run) {
  into.works = run.ok;
  into.problem = run.problem;
}

// Prints one line of JSON: the version, or why there is none. An import may print more.
constexpr std::string_view kImportScript = R"(
import importlib, json
reported = {}
try:
    module = importlib.import_module("NAME")
    reported["version"] = str(getattr(module, "__version__", ""))
    if "NAME" == "torch":
        reported["cuda"] = module.version.cuda or ""
        reported["sees_gpu"] = bool(module.cuda.is_available())
except ModuleNotFoundError as error:
    reported["missing"] = error.name == "NAME"
    reported["problem"] = str(error)
except BaseException as error:
    reported["problem"] = type(error).__name__ + ": " + str(error)
print("\n" + json.dumps(reported))
)";

std::string import_script(std::string_view module) {
  constexpr std::string_view kMark = "NAME";
  std::string script(kImportScript);
  for (std::size_t at = script.find(kMark); at != std::string::npos; at = script.find(kMark, at)) {
    script.replace(at, kMark.size(), module);
  }
  return script;
}

struct Imported {
  std::string cuda;
  bool sees_gpu = false;
};

Task<Imported> probe_import(Processes& processes, std::string python, ToolTrial trial,
                            Component& into) {
  Imported imported;
  if (find_program(python).empty()) {
    into.problem = "needs Python";
    co_return imported;
  }
  // In an empty folder, because a file torch.py in the working folder would be imported instead.
  ToolRun run = co_await run_tool(processes, {.argv = {python, "-c", import_script(into.name)},
                                              .folder = trial.folder,
                                              .time_limit = trial.time_limit});
  std::string_view printed = trim(run.output);
  auto reported = parse_json(printed.substr(printed.rfind('\n') + 1));
  if (!run.ok || !reported || !reported->is_object()) {
    into.found = true;
    into.problem = run.ok ? "gives no version" : run.problem;
    co_return imported;
  }
  into.version = text_at(*reported, "version");
  into.problem = printable(first_line(text_at(*reported, "problem")));
  into.found = !flag_at(*reported, "missing");
  if (!into.found) into.problem = "not installed";
  into.works = into.found && into.problem.empty();
  imported.cuda = text_at(*reported, "cuda");
  imported.sees_gpu = flag_at(*reported, "sees_gpu");
  co_return imported;
}

}  // namespace

Task<void> probe_compiler(Processes& processes, ToolTrial trial, Component& into) {
  fs::path program = find_program(into.name);
  if (!note_place(into, program)) co_return;
  ToolRun version = co_await run_tool(
      processes, {.argv = {program, "--version"}, .time_limit = trial.time_limit});
  into.version = compiler_version(version.output);
  note(into, version);
  if (!into.works) co_return;

  // <cmath>, because clang++ is often installed without a standard library. The source comes on
  // standard input.
  fs::path made = trial.folder / fmt::format("{}.so", program.filename().string());
  ToolRun compiled = co_await run_tool(
      processes, {.argv = {program, "-x", "c++", "-O2", "-shared", "-fPIC", "-o", made, "-"},
                  .folder = trial.folder,
                  .input = "#include <cmath>\n"
                           "extern \"C\" double probe(double x) { return std::sqrt(x); }\n",
                  .time_limit = trial.time_limit});
  note(into, compiled);
  std::error_code error;
  if (into.works && (fs::file_size(made, error) == 0 || error)) {
    into.works = false;
    into.problem = "says that it compiled, but made no shared library";
  } else if (!into.works) {
    into.problem = fmt::format("does not compile: {}", compiled.problem);
  }
}

Task<void> probe_cuda_tool(Processes& processes, ToolTrial trial, Component& into) {
  fs::path program = find_cuda_tool(into.name);
  if (!note_place(into, program)) co_return;
  ToolRun run = co_await run_tool(
      processes,
      {.argv = {program, "--version"}, .folder = trial.folder, .time_limit = trial.time_limit});
  note(into, run);
  into.version = nvcc_version(run.output);
  if (into.version.empty()) into.version = nsight_version(run.output);
}

Task<void> probe_python(Processes& processes, ToolTrial trial, Component& into) {
  fs::path program = find_program(into.name);
  if (!note_place(into, program)) co_return;
  // Runs code: wrappers of version managers answer --version without having an interpreter.
  ToolRun run = co_await run_tool(
      processes, {.argv = {program, "-c", "import sys; print('Python', sys.version.split()[0])"},
                  .folder = trial.folder,
                  .time_limit = trial.time_limit});
  note(into, run);
  into.version = number_after(run.output, "Python ");
}

Task<void> probe_torch(Processes& processes, std::string python, ToolTrial trial, Tools& into) {
  Imported imported =
      co_await probe_import(processes, std::move(python), std::move(trial), into.torch);
  into.torch_cuda = std::move(imported.cuda);
  into.torch_sees_gpu = imported.sees_gpu;
}

Task<void> probe_triton(Processes& processes, std::string python, ToolTrial trial,
                        Component& into) {
  co_await probe_import(processes, std::move(python), std::move(trial), into);
}

bool counters_for_everybody(std::string_view driver_params) {
  for (std::string_view line : split(driver_params, '\n')) {
    std::size_t colon = line.find(':');
    if (trim(line.substr(0, colon)) != "RmProfilingAdminOnly") continue;
    return colon != std::string_view::npos && trim(line.substr(colon + 1)) == "0";
  }
  return false;
}

std::uint64_t effective_capabilities(std::string_view status) {
  constexpr std::string_view kKey = "CapEff:";
  for (std::string_view line : split(status, '\n')) {
    if (!line.starts_with(kKey)) continue;
    std::string_view hex = trim(line.substr(kKey.size()));
    std::uint64_t bits = 0;
    std::from_chars(hex.data(), hex.data() + hex.size(), bits, 16);
    return bits;
  }
  return 0;
}

void look_at_counters(Component& into) {
  auto params = read_file("/proc/driver/nvidia/params");
  if (!params) {
    into.problem = "the NVIDIA driver is not loaded";
    return;
  }
  into.found = true;
  constexpr std::uint64_t kSysAdmin = std::uint64_t{1} << 21;
  auto status = read_file("/proc/self/status");
  bool is_admin = status && (effective_capabilities(*status) & kSysAdmin) != 0;
  bool everybody = counters_for_everybody(*params);
  into.works = everybody || is_admin;
  if (into.works) into.version = everybody ? "for every user" : "for this administrator only";
  if (!into.works) into.problem = "the driver keeps them for administrators";
}

fs::path find_cuda_tool(std::string_view name) {
  if (fs::path found = find_program(name); !found.empty()) return found;
  if (name.find('/') != std::string_view::npos) return {};
  for (const std::string& toolkit : cuda_toolkit_folders()) {
    fs::path candidate = find_program((fs::path(toolkit) / "bin" / name).string());
    if (!candidate.empty()) return candidate;
  }
  // Nsight's own packages, newest first: /opt/nvidia/nsight-compute/2025.3.1/ncu
  std::vector<fs::path> versions;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator("/opt/nvidia/nsight-compute", error)) {
    versions.push_back(entry.path());
  }
  std::ranges::sort(versions, std::greater<>());
  for (const fs::path& version : versions) {
    fs::path candidate = find_program((version / name).string());
    if (!candidate.empty()) return candidate;
  }
  return {};
}

}  // namespace specgen
