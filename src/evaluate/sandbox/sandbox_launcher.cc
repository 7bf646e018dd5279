#include "evaluate/sandbox/sandbox_launcher.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <grp.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/file.h"
#include "base/text.h"
#include "evaluate/host/cuda_libraries.h"
#include "evaluate/sandbox/bubblewrap.h"
#include "evaluate/sandbox/landlock.h"
#include "evaluate/sandbox/seccomp_filter.h"

namespace specgen {
namespace fs = std::filesystem;
namespace {

constexpr std::string_view kInside = "--inside";

#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
constexpr bool kNeedsTerabytes = true;  // sanitizers reserve their shadow memory at the start
#else
constexpr bool kNeedsTerabytes = false;
#endif

Result<void> join_groups(const SandboxSpec& spec) {
  for (const std::string& file : spec.join) {
    Fd fd(::open(file.c_str(), O_WRONLY | O_CLOEXEC));
    if (!fd || ::write(fd.get(), "0", 1) != 1) return fail_errno(file, errno);
  }
  // If the host runs out of memory, the kernel kills this process first.
  Fd score(::open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC));
  if (score) (void)write_all(score.get(), "800");
  return {};
}

// Sets the limit as given, or to the hard limit that we already have if that is lower.
Result<void> limit(__rlimit_resource resource, rlim_t soft, rlim_t hard, const char* name) {
  rlimit current{};
  if (::getrlimit(resource, &current) != 0) return fail_errno(name, errno);
  rlimit wanted{.rlim_cur = std::min(soft, hard), .rlim_max = hard};
  if (::setrlimit(resource, &wanted) == 0) return {};
  if (errno != EPERM) return fail_errno(name, errno);
  hard = std::min(hard, current.rlim_max);
  wanted = {.rlim_cur = std::min(soft, hard), .rlim_max = hard};
  if (::setrlimit(resource, &wanted) != 0) return fail_errno(name, errno);
  return {};
}

Result<void> limit_processes(const SandboxSpec& spec) {
  // Bubblewrap adds two processes, the launcher one.
  auto count = static_cast<rlim_t>(spec.limits.processes) + 2;
  return limit(RLIMIT_NPROC, count, count, "RLIMIT_NPROC");
}

Result<void> set_limits(const SandboxSpec& spec) {
  auto cpu = static_cast<rlim_t>(std::max<std::int64_t>(
      1, std::chrono::ceil<std::chrono::seconds>(spec.limits.cpu_time).count()));
  rlim_t file = spec.limits.file_size.count;
  constexpr rlim_t kDescriptors = 4096;
  TRY(limit(RLIMIT_CPU, cpu, cpu + 1, "RLIMIT_CPU"));
  TRY(limit(RLIMIT_FSIZE, file, file, "RLIMIT_FSIZE"));
  TRY(limit(RLIMIT_NOFILE, kDescriptors, kDescriptors, "RLIMIT_NOFILE"));
  TRY(limit(RLIMIT_CORE, 0, 0, "RLIMIT_CORE"));
  TRY(limit(RLIMIT_MSGQUEUE, 0, 0, "RLIMIT_MSGQUEUE"));
  // Pinned host memory of a GPU counts as locked; the control group limits it.
  rlim_t locked = spec.gpu ? RLIM_INFINITY : MiB(8).count;
  return limit(RLIMIT_MEMLOCK, locked, locked, "RLIMIT_MEMLOCK");
}

// For the program alone: bubblewrap and the launcher may need more.
Result<void> limit_address_space(const SandboxSpec& spec) {
  if (!spec.limit_address_space || (kNeedsTerabytes && spec.own_program)) return {};
  rlim_t memory = spec.limits.memory.count;
  return limit(RLIMIT_AS, memory, memory, "RLIMIT_AS");
}

// Permanently, and without any capability.
Result<void> become(std::uint32_t uid) {
  if (uid == 0) return {};
  pid_t parent = ::getppid();
  if (::setgroups(0, nullptr) != 0 || ::setresgid(uid, uid, uid) != 0 ||
      ::setresuid(uid, uid, uid) != 0) {
    return fail_errno("changing to the uid of the sandbox", errno);
  }
  // The kernel clears this setting when the uid changes.
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(kSandboxFailed);
  return {};
}

struct Executable {
  Fd fd;  // opened before rights are dropped: other users may not be able to enter its folder
  std::string name;
};

Result<Executable> open_executable(const std::string& path) {
  Executable program{.fd = Fd(::open(path.c_str(), O_PATH | O_CLOEXEC)), .name = path};
  if (!program.fd) return fail_errno(path, errno);
  return program;
}

std::vector<char*> pointers_to(std::vector<std::string>& strings) {
  std::vector<char*> pointers;
  for (std::string& string : strings) pointers.push_back(string.data());
  pointers.push_back(nullptr);
  return pointers;
}

// `limits` is null for bubblewrap itself.
Result<void> execute(const Executable& program, std::vector<std::string> argv,
                     std::vector<std::string> environment, const SandboxSpec* limits = nullptr) {
  std::vector<char*> arguments = pointers_to(argv);
  std::vector<char*> variables = pointers_to(environment);
  if (limits) TRY(limit_address_space(*limits));  // last: nothing is allocated after this
  ::syscall(SYS_execveat, program.fd.get(), "", arguments.data(), variables.data(), AT_EMPTY_PATH);
  // A script cannot be run by its descriptor, which is closed when the interpreter opens it.
  if (errno == ENOENT) ::execve(program.name.c_str(), arguments.data(), variables.data());
  return fail_errno(program.name, errno);
}

// Bubblewrap reads the filter from an inherited descriptor.
Result<Fd> file_with(const FilterProgram& filter) {
  Fd file(::memfd_create("filter", 0));
  if (!file || write_all(file.get(), filter) != 0 || ::lseek(file.get(), 0, SEEK_SET) != 0) {
    return fail_errno("memfd_create", errno);
  }
  return file;
}

std::string own_executable() {
  std::error_code error;
  fs::path path = fs::read_symlink("/proc/self/exe", error);
  return error ? std::string("/proc/self/exe") : path.string();
}

std::vector<std::string> gpu_folders(const SandboxSpec& spec) {
  std::vector<std::string> folders;
  if (!spec.gpu) return folders;
  std::error_code error;
  for (const std::string& folder : cuda_toolkit_folders()) {
    bool is_below_usr = folder.starts_with("/usr/");  // always visible
    if (!is_below_usr && fs::is_directory(folder, error)) folders.push_back(folder);
  }
  return folders;
}

// Whether the uid changes before bubblewrap starts. If not, limits that count by uid and the change
// of uid are applied inside.
bool is_own_user(const SandboxSpec& spec) {
  return spec.uid != 0 && spec.user_namespace;
}

// Binds the sources below a folder that every uid may enter, in a mount namespace of our own: they
// may be below folders that the uid of the sandbox may not enter. Needs root.
Result<void> stage(std::vector<BoundPath>& bound) {
  if (::unshare(CLONE_NEWNS) != 0 ||
      ::mount(nullptr, "/", nullptr, MS_REC | MS_SLAVE, nullptr) != 0) {
    return {};  // root of a container: the sources are used from their original paths
  }
  std::vector<Fd> sources;  // opened first: some are below the folder that is covered next
  for (const BoundPath& each : bound) {
    sources.emplace_back(::open(each.source.c_str(), O_PATH | O_CLOEXEC));
    if (!sources.back()) return fail_errno(each.source, errno);
  }
  constexpr const char* kStage = "/tmp";
  if (::mount("tmpfs", kStage, "tmpfs", MS_NOSUID | MS_NODEV, "mode=0755,size=1m") != 0) {
    return fail_errno("mounting the folder of bound files", errno);
  }
  for (std::size_t i = 0; i < bound.size(); ++i) {
    struct stat about{};
    if (::fstat(sources[i].get(), &about) != 0) return fail_errno(bound[i].source, errno);
    std::string target = fmt::format("{}/{}", kStage, i);
    bool made = S_ISDIR(about.st_mode) ? ::mkdir(target.c_str(), 0755) == 0
                                       : ::mknod(target.c_str(), S_IFREG | 0644, 0) == 0;
    std::string source = fmt::format("/proc/self/fd/{}", sources[i].get());
    if (!made || ::mount(source.c_str(), target.c_str(), nullptr, MS_BIND | MS_REC, nullptr) != 0) {
      return fail_errno(bound[i].source, errno);
    }
    bound[i].source = target;
  }
  return {};
}

Result<void> enter_namespaces(const SandboxSpec& spec, std::vector<std::string> argv) {
  std::vector<BoundPath> bound = {{own_executable(), std::string(kProgramInside)}};
  for (const std::string& path : spec.read_only) bound.push_back({path, path});
  for (const std::string& path : gpu_folders(spec)) bound.push_back({path, path});

  Executable bubblewrap = TRY(open_executable(spec.bubblewrap));
  if (is_own_user(spec)) TRY(stage(bound));
  Fd filter = TRY(file_with(spec.filter));

  if (spec.own_program) argv[0] = kProgramInside;
  std::vector<std::string> inside = {std::string(kProgramInside), std::string(kInternalSandbox),
                                     std::string(kInside), to_text(spec), "--"};
  inside.insert(inside.end(), argv.begin(), argv.end());
  std::vector<std::string> arguments =
      bubblewrap_arguments(spec, find_host_paths(spec.gpu), bound, filter.get(), inside);

  TRY(set_limits(spec));
  if (is_own_user(spec)) {
    TRY(limit_processes(spec));
    TRY(become(spec.uid));
  }
  return execute(bubblewrap, std::move(arguments), {});
}

// Bubblewrap's first process in the sandbox starts ours, and only then drops its rights and applies
// the filter. A program that runs before that could take it over, as both have the same uid.
Result<void> wait_until_first_process_is_bound() {
  // The filter is its last step, and we already have the same one. The number of filters is
  // compared: all of us may have been started with a filter, so the mode says nothing.
  auto filters = [](std::string_view status) {
    constexpr std::string_view kNumber = "\nSeccomp_filters:", kMode = "\nSeccomp:";
    std::size_t at = status.find(kNumber);
    if (at == status.npos) at = status.find(kMode);  // before Linux 5.9
    return std::string(at == status.npos ? "" : first_line(status.substr(at + 1)));
  };
  const std::string ours = filters(TRY(read_file("/proc/self/status")));
  constexpr int kMaxChecks = 100'000;
  constexpr timespec kPause{.tv_sec = 0, .tv_nsec = 100'000};
  for (int check = 0; check < kMaxChecks; ++check) {
    if (filters(TRY(read_file("/proc/1/status"))) == ours) return {};
    ::nanosleep(&kPause, nullptr);
  }
  return fail(ErrorCode::timeout, "bubblewrap's first process did not apply its filter");
}

// Inside bubblewrap: as the user that we were outside, or as root without a user namespace.
Result<void> enter_second_half(const SandboxSpec& spec, std::vector<std::string> argv) {
  fs::path found = find_program(argv[0]);
  if (found.empty()) return fail(ErrorCode::tool_missing, argv[0]);
  Executable program = TRY(open_executable(found.string()));
  TRY(wait_until_first_process_is_bound());
  if (!is_own_user(spec)) TRY(limit_processes(spec));
  if (!spec.user_namespace) TRY(become(spec.uid));
  return execute(program, std::move(argv), spec.environment, &spec);
}

LandlockView landlock_view(const SandboxSpec& spec) {
  HostPaths host = find_host_paths(spec.gpu);
  LandlockView view;
  view.read_only = host.read_only;
  for (const auto& [path, target] : host.links) view.read_only.push_back(path);
  view.read_only.insert(view.read_only.end(), spec.read_only.begin(), spec.read_only.end());
  for (const std::string& path : gpu_folders(spec)) view.read_only.push_back(path);
  if (spec.own_program) view.read_only.push_back(own_executable());
  view.writable = {spec.private_tmp};
  view.devices = {"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"};
  view.devices.insert(view.devices.end(), host.devices.begin(), host.devices.end());
  // The process's own entry; the GPU's driver reads more and names its threads there.
  if (spec.gpu) {
    view.devices.emplace_back("/proc");
  } else {
    view.read_only.emplace_back("/proc/self");
  }
  return view;
}

Result<void> enter_landlock(const SandboxSpec& spec, std::vector<std::string> argv) {
  if (spec.uid == 0) return fail(ErrorCode::bad_message, "a sandbox of level L1 without a uid");
  fs::path found = spec.own_program ? fs::path(own_executable()) : find_program(argv[0]);
  if (found.empty()) return fail(ErrorCode::tool_missing, argv[0]);
  Executable program = TRY(open_executable(found.string()));
  Fd ruleset = TRY(make_landlock_ruleset(landlock_view(spec)));
  const std::string& folder = spec.folder.empty() ? spec.private_tmp : spec.folder;
  if (::chdir(folder.c_str()) != 0) return fail_errno(folder, errno);
  ::umask(077);
  TRY(set_limits(spec));
  TRY(limit_processes(spec));
  TRY(become(spec.uid));
  TRY(enforce_landlock(ruleset));
  TRY(apply_filter(spec.filter, FilteredThreads::calling_thread));
  return execute(program, std::move(argv), spec.environment, &spec);
}

Result<void> launch(std::span<const std::string> arguments) {
  bool inside = !arguments.empty() && arguments[0] == kInside;
  if (inside) arguments = arguments.subspan(1);
  if (arguments.size() < 3 || arguments[1] != "--") {
    return fail(ErrorCode::bad_usage, "internal-sandbox SPEC -- PROGRAM ARGUMENTS...");
  }
  SandboxSpec spec = TRY(parse_sandbox_spec(arguments[0]));
  std::vector<std::string> argv(arguments.begin() + 2, arguments.end());
  return inside ? enter_second_half(spec, std::move(argv)) : enter_sandbox(spec, std::move(argv));
}

}  // namespace

Result<void> enter_sandbox(const SandboxSpec& spec, std::vector<std::string> argv) {
  TRY(join_groups(spec));
  if (spec.level == SandboxLevel::lsm) return enter_landlock(spec, std::move(argv));
  return enter_namespaces(spec, std::move(argv));
}

void run_sandbox_launcher(std::span<const std::string> arguments) {
  auto failed = launch(arguments);
  std::string line = fmt::format("{}: {}\n", kInternalSandbox, failed.error().summary());
  (void)write_all(STDERR_FILENO, line);
  ::_exit(kSandboxFailed);
}

}  // namespace specgen
