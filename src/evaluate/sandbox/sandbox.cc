#include "evaluate/sandbox/sandbox.h"

#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <optional>

#include "base/environment.h"
#include "base/file.h"
#include "base/text.h"
#include "evaluate/sandbox/control_group.h"
#include "evaluate/sandbox/level_cache.h"
#include "evaluate/sandbox/level_trial.h"
#include "evaluate/sandbox/sandbox_identity.h"
#include "evaluate/sandbox/sandbox_launcher.h"
#include "evaluate/sandbox/sandbox_spec.h"

namespace specgen {
namespace fs = std::filesystem;
namespace {

using namespace std::chrono_literals;

constexpr Duration kProbeLimit = 10s;

// --disable-userns exists since bubblewrap 0.8.
bool can_disable_user_namespaces(const Component& bubblewrap) {
  std::vector<std::string_view> parts = split(bubblewrap.version, '.');
  int major = 0, minor = 0;
  if (parts.size() < 2) return false;
  std::from_chars(parts[0].data(), parts[0].data() + parts[0].size(), major);
  std::from_chars(parts[1].data(), parts[1].data() + parts[1].size(), minor);
  return major > 0 || minor >= 8;
}

std::string_view name_of(std::string_view variable) {
  return variable.substr(0, variable.find('='));
}

void set(std::vector<std::string>& environment, std::string variable) {
  std::erase_if(environment,
                [&](const std::string& each) { return name_of(each) == name_of(variable); });
  environment.push_back(std::move(variable));
}

// Of our own environment only the variables that a GPU's libraries read are passed on.
std::vector<std::string> environment_inside(const Command& command, bool gpu,
                                            const std::string& tmp) {
  std::vector<std::string> inside{"PATH=/usr/local/bin:/usr/bin:/bin", "LANG=C", "USER=sandbox",
                                  "HOME=" + tmp, "TMPDIR=" + tmp};
  if (gpu) {
    for (const std::string& variable : whole_environment()) {
      std::string_view name = name_of(variable);
      bool needed =
          name.starts_with("CUDA_") || name.starts_with("NVIDIA_") || name == "LD_LIBRARY_PATH";
      if (needed && name != "CUDA_CACHE_PATH") set(inside, variable);
    }
  }
  if (command.environment) {
    for (const std::string& variable : *command.environment) set(inside, variable);
  }
  return inside;
}

// The launcher needs CUDA's variables to find the toolkit, and nothing else of ours.
std::vector<std::string> environment_of_launcher() {
  std::vector<std::string> environment{"PATH=/usr/local/bin:/usr/bin:/bin"};
  for (const char* name : {"CUDA_HOME", "CUDA_PATH"}) {
    if (auto value = environment_variable(name)) {
      environment.push_back(fmt::format("{}={}", name, *value));
    }
  }
  return environment;
}

// A sandbox with another uid sees only what all users may read. Checked here, because inside the
// file would seem to be missing.
Result<void> check_readable(const fs::path& path) {
  struct stat about{};
  if (!path.is_absolute()) {
    return fail(ErrorCode::harness_failed, fmt::format("{}: not an absolute path", path.string()));
  }
  if (::stat(path.c_str(), &about) != 0) return fail_errno(path.string(), errno);
  mode_t needed = S_ISDIR(about.st_mode) ? S_IROTH | S_IXOTH : S_IROTH;
  if ((about.st_mode & needed) == needed) return {};
  return fail(ErrorCode::harness_failed,
              fmt::format("{} must be visible in a sandbox, but other users may not read it",
                          path.string()),
              fmt::format("run `chmod -R a+rX {}`", path.string()));
}

// The paths to bind for a view. /usr is in every sandbox, so what is below it needs no binding, but
// the target of a link below /usr that leads elsewhere does.
Result<std::vector<std::string>> paths_to_bind(const SandboxView& view, bool own_uid) {
  std::vector<std::string> paths;
  for (const fs::path& path : view.read_only) {
    if (own_uid) TRY(check_readable(path));
    std::error_code error;
    fs::path target = fs::canonical(path, error);
    if (!error && !target.string().starts_with("/usr/")) paths.push_back(target.string());
    if (target != path && !path.string().starts_with("/usr/")) paths.push_back(path.string());
  }
  return paths;
}

std::string advice_for(const SandboxFeatures& features) {
  if (features.closed_switch.empty()) return {};
  return fmt::format(
      "run `sysctl -w {}` as root, then `specgen doctor`; --allow-unsandboxed runs without a "
      "sandbox",
      features.closed_switch);
}

SandboxLevel below(SandboxLevel level) {
  return static_cast<SandboxLevel>(static_cast<int>(level) - 1);
}

// Levels that are already known to hold, and the features that take child processes to find out.
Task<KnownLevels> find_features(Processes& processes, std::vector<std::string> self, fs::path cache,
                                SandboxFeatures& features) {
  ask_kernel_for_sandbox(features);
  KnownLevels known =
      read_level_cache(cache, identity_of_programs({self.front(), find_program("bwrap").string()}));
  if (!known.held.empty()) {
    features.bubblewrap = known.bubblewrap;
    features.user_namespaces = known.user_namespaces;
    features.own_uid = known.own_uid;
    co_return known;
  }
  std::vector<std::string> witness = self;
  witness.emplace_back("--version");
  co_await probe_bubblewrap(processes, std::move(witness), kProbeLimit, features);
  co_await probe_confinement(processes, self, kProbeLimit, features);
  known.bubblewrap = features.bubblewrap;
  known.user_namespaces = features.user_namespaces;
  known.own_uid = features.own_uid;
  co_return known;
}

}  // namespace

struct SandboxResources::Held {
  std::optional<ControlGroup> group;    // L3
  std::optional<SandboxUid> uid;        // if we are root
  std::optional<PrivateFolder> folder;  // L1
  bool kill_by_uid = false;             // L1: no namespace ends the processes together
};

SandboxResources::SandboxResources() = default;
SandboxResources::SandboxResources(SandboxResources&&) noexcept = default;

SandboxResources& SandboxResources::operator=(SandboxResources&& other) noexcept {
  if (this != &other) {
    SandboxResources old(std::move(*this));
    held_ = std::move(other.held_);
  }
  return *this;
}

SandboxResources::~SandboxResources() {
  if (!held_) return;
  if (held_->kill_by_uid && held_->uid) held_->uid->kill_all();
  held_->group.reset();  // kills its processes, which still use the uid and the folder
}

bool SandboxResources::killed_for_memory() const {
  return held_ && held_->group && held_->group->killed_for_memory() > 0;
}

Result<void> Sandbox::set_level(SandboxLevel level) {
  level_ = level;
  for (bool gpu : {false, true}) {
    FilterOptions options;
    // L1 has no namespaces for sockets and IPC. A GPU's driver talks to its own helper processes.
    if (level == SandboxLevel::lsm) options = {.unix_sockets = gpu, .system_v_ipc = false};
    filters_[gpu] = level == SandboxLevel::none ? "" : TRY(sandbox_filter(options));
  }
  return {};
}

Task<Result<Sandbox>> Sandbox::open(Loop& loop, Processes& processes, SandboxOptions options) {
  SG_ASSERT(!options.self.empty(), "the command line of this program is needed");
  Sandbox sandbox;
  sandbox.self_ = options.self;
  SandboxFeatures& features = sandbox.features_;
  fs::path cache = level_cache_file();
  KnownLevels known = co_await find_features(processes, options.self, cache, features);
  if (features.cgroups.cgroup.works) remove_groups_of_dead_processes(features.cgroups);
  remove_left_over_groups();
  remove_folders_of_dead_processes();

  SandboxLevel possible = level_possible(features);
  bool was_tested = false;
  for (SandboxLevel level = std::min(possible, options.at_most); level > SandboxLevel::none;
       level = below(level)) {
    // level_possible() does not say whether a lower level works too.
    if (level == SandboxLevel::lsm && !(features.landlock.works && features.own_uid.works)) break;
    CO_TRY(sandbox.set_level(level));
    if (!known.held.contains(level)) {
      LevelTrial trial = co_await try_level(loop, processes, sandbox, options.self);
      known.held[level] = trial.held;
      was_tested = true;
      if (!trial.problem.empty()) {
        sandbox.problems_ +=
            fmt::format("{}{} did not hold: {}", sandbox.problems_.empty() ? "" : "; ",
                        to_string(level), trial.problem);
      }
    }
    if (known.held[level]) break;
    CO_TRY(sandbox.set_level(SandboxLevel::none));
  }
  // A level that did not hold is not cached: it is tested again next time, and the reason reported
  // again.
  if (was_tested) {
    std::erase_if(known.held, [](const auto& each) { return !each.second; });
    (void)write_level_cache(cache, known);  // without a cache the next start takes longer
  }

  bool enough = sandbox.level_ >= options.at_least && sandbox.level_ > SandboxLevel::none;
  if (enough || options.allow_none) co_return sandbox;
  std::string why = sandbox.problems_;
  if (why.empty()) why = fmt::format("this host offers what {} needs", to_string(possible));
  co_return fail(ErrorCode::sandbox_missing,
                 fmt::format("sandbox level {} is required, but only {} holds: {}",
                             to_string(options.at_least), to_string(sandbox.level_), why),
                 advice_for(features));
}

Result<SandboxedCommand> Sandbox::wrap(Command command, SandboxLimits limits,
                                       SandboxView view) const {
  SG_ASSERT(!command.argv.empty(), "a command has at least a name");
  SG_ASSERT(limits.memory.count > 0 && limits.processes > 0 && limits.cpu_time > Duration(0) &&
                limits.file_size.count > 0 && limits.tmp_size.count > 0,
            "a sandbox without a limit");
  if (level_ == SandboxLevel::none) return SandboxedCommand{.command = std::move(command)};
  SandboxResources resources;
  resources.held_ = std::make_unique<SandboxResources::Held>();
  SandboxResources::Held& held = *resources.held_;
  SandboxSpec spec{.level = level_,
                   .limits = limits,
                   .gpu = view.gpu,
                   .own_program = command.argv[0] == self_.front(),
                   .folder = command.folder.string(),
                   .filter = filters_[view.gpu]};
  bool own_uid = features_.is_root && features_.own_uid.works;
  if (own_uid) spec.uid = held.uid.emplace(SandboxUid::take()).value();
  spec.read_only = TRY(paths_to_bind(view, own_uid));
  std::string tmp(kTmpInside);
  if (level_ == SandboxLevel::lsm) {
    spec.private_tmp = tmp = held.folder.emplace(TRY(PrivateFolder::make(spec.uid))).path();
    held.kill_by_uid = own_uid;
  } else {
    spec.bubblewrap = features_.bubblewrap.path;
    // Root can use the other kinds of namespaces without user namespaces.
    spec.user_namespace = features_.user_namespaces.works;
    spec.disable_user_namespaces = can_disable_user_namespaces(features_.bubblewrap);
  }
  if (level_ == SandboxLevel::full) {
    constexpr int kOfBubblewrap = 2;  // outside and first inside
    spec.join = held.group
                    .emplace(TRY(ControlGroup::make(features_.cgroups, limits.memory,
                                                    limits.processes + kOfBubblewrap)))
                    .join_files();
  } else {
    spec.limit_address_space = !view.gpu;
  }
  spec.environment = environment_inside(command, view.gpu, tmp);

  std::vector<std::string> argv = self_;
  argv.emplace_back(kInternalSandbox);
  argv.push_back(to_text(spec));
  argv.emplace_back("--");
  argv.insert(argv.end(), command.argv.begin(), command.argv.end());
  command.argv = std::move(argv);
  command.environment = environment_of_launcher();
  command.folder = "/";
  return SandboxedCommand{std::move(command), std::move(resources)};
}

WrapCommand wrap_with(const Sandbox& sandbox) {
  return [&sandbox](Command command, SandboxLimits limits, SandboxView view) {
    return sandbox.wrap(std::move(command), limits, std::move(view));
  };
}

WrapCommand unsandboxed() {
  return [](Command command, const SandboxLimits&, const SandboxView&) -> Result<SandboxedCommand> {
    return SandboxedCommand{.command = std::move(command)};
  };
}

}  // namespace specgen
