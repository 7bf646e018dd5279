#include "evaluate/pytorch/python_process.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <boost/json.hpp>

#include "base/environment.h"
#include "base/text.h"
#include "evaluate/host/tool_run.h"
#include "runtime/race.h"

namespace specgen {

// Generated at build time from python/*.py.
std::string_view embedded_common();
std::string_view embedded_reference();
std::string_view embedded_extension();
std::string_view embedded_model_new();

namespace {

namespace fs = std::filesystem;

constexpr std::string_view kWhere = R"(
import importlib.util, json, os, sys
torch = importlib.util.find_spec("torch")
folders = [sys.prefix, sys.base_prefix, os.path.dirname(os.path.realpath(sys.executable))]
folders += [p for p in sys.path if os.path.isdir(p)]
if torch and torch.origin:
    folders += [os.path.dirname(torch.origin), os.path.dirname(os.path.realpath(torch.origin))]
print(json.dumps({"executable": sys.executable, "torch": bool(torch), "folders": folders}))
)";

constexpr std::size_t kKeptOutput = 4096;

bool is_below(const fs::path& path, const fs::path& folder) {
  return std::ranges::mismatch(folder, path).in1 == folder.end();
}

// Other folders could not be read inside the sandbox, and it would not start with them.
bool is_open_to_all(const fs::path& folder) {
  constexpr auto kForOthers = fs::perms::others_read | fs::perms::others_exec;
  std::error_code trouble;
  const fs::file_status status = fs::status(folder, trouble);
  return fs::is_directory(status) && (status.permissions() & kForOthers) == kForOthers;
}

std::string program_text(PythonProgram program) {
  std::string text(embedded_common());
  if (program == PythonProgram::reference) return text.append(embedded_reference());
  return text.append(embedded_extension()).append(embedded_model_new());
}

// Little is inherited: a candidate could reveal what it sees of the user's environment.
std::vector<std::string> environment_for(const PythonHost& host) {
  std::string scratch = host.scratch.string();
  std::string path = host.python.executable.parent_path().string();
  std::vector<std::string> environment{
      "PATH=" + path + ":/usr/local/cuda/bin:/usr/local/bin:/usr/bin:/bin",
      "HOME=" + scratch,
      "TMPDIR=" + scratch,
      "TRITON_CACHE_DIR=" + scratch + "/triton",
      "LC_ALL=C.UTF-8",
      fmt::format("OMP_NUM_THREADS={}", host.threads)};
  for (const char* name : {"CUDA_VISIBLE_DEVICES", "CUDA_HOME", "LD_LIBRARY_PATH", "CXX"}) {
    if (auto value = environment_variable(name)) {
      environment.push_back(fmt::format("{}={}", name, *value));
    }
  }
  return environment;
}

}  // namespace

std::optional<fs::path> folder_of_compiler(std::string_view compiler, const fs::path& home) {
  fs::path program(std::string(compiler.substr(0, compiler.find(' '))));
  if (!program.is_absolute() || is_below(program, "/usr")) return std::nullopt;
  fs::path bin = program.lexically_normal().parent_path();
  fs::path installed = bin.parent_path();
  const bool is_too_much = !installed.has_relative_path() || is_below(home, installed);
  if (bin.filename() == "bin" && !is_too_much) return installed;
  if (!bin.has_relative_path() || is_below(home, bin)) return std::nullopt;
  return bin;
}

Task<Result<Python>> find_python(Processes& processes, std::string name) {
  constexpr std::string_view kAdvice =
      "install torch for that Python (Debian: apt-get install python3-torch), or name one that has "
      "it in specgen.toml [tools] python";
  auto run = co_await run_tool(processes, {.argv = {name, "-I", "-c", std::string(kWhere)},
                                           .time_limit = std::chrono::seconds(30)});
  if (!run.ok) {
    co_return fail(ErrorCode::tool_missing, name + ": " + run.problem, std::string(kAdvice));
  }
  Json answer = CO_TRY(parse_json(run.output));
  if (!flag_at(answer, "torch")) {
    co_return fail(ErrorCode::tool_missing, text_at(answer, "executable") + " has no torch",
                   std::string(kAdvice));
  }
  Python python{.executable = text_at(answer, "executable"), .folders = {}};
  const Json* folders = member_at(answer, "folders");
  if (folders == nullptr || !folders->is_array()) co_return python;
  for (const Json& folder : folders->get_array()) {
    if (!folder.is_string()) continue;
    fs::path path = fs::path(std::string_view(folder.get_string())).lexically_normal();
    bool known = is_below(path, "/usr") || path == "/" || path.empty() ||
                 std::ranges::any_of(python.folders, [&](auto& f) { return is_below(path, f); });
    if (!known) python.folders.push_back(path);
  }
  co_return python;
}

Result<std::unique_ptr<PythonProcess>> PythonProcess::start(const PythonHost& host,
                                                            PythonProgram program,
                                                            std::vector<fs::path> read_only) {
  auto [ours, theirs] = TRY(MessageSocket::make_pair(host.loop, host.driver));
  read_only.insert(read_only.end(), host.python.folders.begin(), host.python.folders.end());
  auto compiler = folder_of_compiler(environment_variable("CXX").value_or(""),
                                     environment_variable("HOME").value_or("/root"));
  if (compiler && is_open_to_all(*compiler) && program == PythonProgram::model_new) {
    read_only.push_back(*compiler);
  }
  Command command{
      .argv = {host.python.executable.string(), "-I", "-c", program_text(program)},
      .environment = environment_for(host),
      .descriptors = {theirs.get()},
  };
  SandboxedCommand sandboxed =
      TRY(host.wrap(std::move(command), host.limits,
                    SandboxView{.read_only = std::move(read_only), .gpu = host.on_gpu()}));
  Process process = TRY(host.processes.spawn(sandboxed.command));
  process.input.reset();
  return std::unique_ptr<PythonProcess>(new PythonProcess(
      host.loop, std::move(ours), std::move(sandboxed.resources), std::move(process)));
}

PythonProcess::PythonProcess(Loop& loop, MessageSocket socket, SandboxResources resources,
                             Process process)
    : loop_(loop),
      socket_(std::move(socket)),
      resources_(std::move(resources)),
      process_(std::move(process)),
      readers_(loop) {
  readers_.spawn(keep_end(*process_.output, printed_));
  readers_.spawn(keep_end(*process_.error_output, complained_));
}

PythonProcess::~PythonProcess() = default;

Task<void> PythonProcess::keep_end(AsyncFd& from, std::string& into) {
  std::array<char, 4096> part;
  while (true) {
    auto read = co_await from.read_some(part);
    if (!read || *read == 0) co_return;
    into.append(part.data(), *read);
    if (into.size() > 2 * kKeptOutput) into.erase(0, into.size() - kKeptOutput);
  }
}

Task<PythonAnswer> PythonProcess::end(Verdict verdict, std::string why) {
  alive_ = false;
  // It has closed its end, so it is about to exit by itself, with an informative exit code.
  if (verdict == Verdict::crash)
    co_await race(process_.wait(), loop_.sleep(std::chrono::seconds(2)));
  process_.kill();
  Exit exit = co_await process_.wait();
  co_await race(readers_.join(), loop_.sleep(std::chrono::seconds(1)));
  if (resources_.killed_for_memory()) {
    co_return PythonAnswer{.ended = Verdict::out_of_memory,
                           .how = "it used more memory than its limit"};
  }
  if (verdict == Verdict::timeout) co_return PythonAnswer{.ended = verdict, .how = std::move(why)};
  std::string_view last = trim(complained_);
  if (last.size() > 600) last.remove_prefix(last.size() - 600);
  if (why.empty()) why = to_string(exit);
  if (!last.empty()) why += ": " + std::string(last);
  co_return PythonAnswer{.ended = verdict, .how = std::move(why)};
}

Task<PythonAnswer> PythonProcess::exchange(std::string question, std::vector<int> descriptors) {
  auto sent = co_await socket_.send(std::move(question), std::move(descriptors));
  if (!sent) co_return co_await end(Verdict::crash, "");
  auto message = co_await socket_.receive();
  if (!message) co_return co_await end(Verdict::crash, message.error().context);
  if (!*message) co_return co_await end(Verdict::crash, "");
  co_return PythonAnswer{.message = std::move(**message)};
}

Task<Result<PythonAnswer>> PythonProcess::ask(std::string question, std::vector<int> descriptors,
                                              Duration limit) {
  if (!alive_) co_return fail(ErrorCode::harness_failed, "the Python process has ended");
  auto outcome =
      co_await race(exchange(std::move(question), std::move(descriptors)), loop_.sleep(limit));
  if (PythonAnswer* answer = outcome.first()) co_return std::move(*answer);
  co_return co_await end(Verdict::timeout, "no answer within " + format_duration(limit));
}

}  // namespace specgen
