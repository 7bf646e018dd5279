#include "evaluate/host/sandbox_features.h"

#include <fmt/core.h>
#include <grp.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <boost/json.hpp>
#include <cerrno>
#include <cstring>

#include "base/file.h"
#include "base/text.h"
#include "evaluate/host/internal_probe.h"
#include "evaluate/host/tool_run.h"

namespace specgen {
namespace {

void ask_for_landlock(Component& into) {
  constexpr unsigned kAskVersion = 1;  // LANDLOCK_CREATE_RULESET_VERSION
  long abi = ::syscall(SYS_landlock_create_ruleset, nullptr, 0, kAskVersion);
  into.found = into.works = abi > 0;
  if (abi > 0) into.version = std::to_string(abi);
  if (abi <= 0) {
    into.problem = errno == EOPNOTSUPP ? "built into the kernel, but not enabled at boot"
                                       : "not in this kernel";
  }
}

void ask_for_seccomp(Component& into) {
  // The actions of our filters: kill, and an errno.
  for (std::uint32_t action : {SECCOMP_RET_KILL_PROCESS, SECCOMP_RET_ERRNO}) {
    if (::syscall(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0, &action) != 0) {
      into.problem = fmt::format("the kernel refuses filters: {}", std::strerror(errno));
      return;
    }
  }
  into.found = into.works = true;
}

std::string closed_switch() {
  struct Switch {
    const char* file;
    std::string_view closed;
    const char* open;
  };
  constexpr std::array kSwitches{
      Switch{"/proc/sys/kernel/unprivileged_userns_clone", "0",
             "kernel.unprivileged_userns_clone=1"},
      Switch{"/proc/sys/kernel/apparmor_restrict_unprivileged_userns", "1",
             "kernel.apparmor_restrict_unprivileged_userns=0"},
      Switch{"/proc/sys/user/max_user_namespaces", "0", "user.max_user_namespaces=65536"},
  };
  for (const Switch& each : kSwitches) {
    auto content = read_file(each.file);
    if (content && trim(*content) == each.closed) return each.open;
  }
  return {};
}

// Has a child in namespaces of its own use a right that only their owner has: some systems allow
// the namespace and then deny every right in it.
void try_user_namespace(Component& into) {
  constexpr unsigned long kFlags = CLONE_NEWUSER | CLONE_NEWUTS | SIGCHLD;
  long pid = ::syscall(SYS_clone, kFlags, nullptr, nullptr, nullptr, 0);
  if (pid < 0) {
    into.problem = fmt::format("refused: {}", std::strerror(errno));
    return;
  }
  if (pid == 0) ::_exit(::sethostname("specgen", 7) == 0 ? 0 : 1);
  into.found = true;
  int status = -1;
  while (::waitpid(static_cast<pid_t>(pid), &status, 0) < 0 && errno == EINTR) {
  }
  into.works = status == 0;
  if (!into.works) into.problem = "allowed, but without any rights inside";
}

// This cannot be undone in this process.
void try_own_uid(Component& into) {
  constexpr uid_t kNobody = 65534;
  bool changed = ::setgroups(0, nullptr) == 0 && ::setresgid(kNobody, kNobody, kNobody) == 0 &&
                 ::setresuid(kNobody, kNobody, kNobody) == 0;
  into.found = into.works = changed && ::getuid() == kNobody;
  if (!into.works)
    into.problem = fmt::format("cannot change to another uid: {}", std::strerror(errno));
}

}  // namespace

std::string_view to_string(SandboxLevel level) {
  constexpr std::array<std::string_view, 4> kNames{"L0", "L1", "L2", "L3"};
  return kNames[static_cast<std::size_t>(level)];
}

SandboxLevel level_possible(const SandboxFeatures& features) {
  if (!features.seccomp.works) return SandboxLevel::none;
  bool has_bubblewrap = features.bubblewrap.works;
  if (has_bubblewrap && features.own_uid.works && features.cgroups.cgroup.works)
    return SandboxLevel::full;
  if (has_bubblewrap) return SandboxLevel::namespaces;
  if (features.own_uid.works && features.landlock.works) return SandboxLevel::lsm;
  return SandboxLevel::none;
}

void ask_kernel_for_sandbox(SandboxFeatures& into) {
  ask_for_landlock(into.landlock);
  ask_for_seccomp(into.seccomp);
  into.cgroups = probe_cgroups();
  into.is_root = ::geteuid() == 0;
  into.closed_switch = closed_switch();
}

Task<void> probe_bubblewrap(Processes& processes, std::vector<std::string> witness, Duration limit,
                            SandboxFeatures& into) {
  Component& bubblewrap = into.bubblewrap;
  std::filesystem::path program = find_program("bwrap");
  bubblewrap.found = !program.empty();
  bubblewrap.path = program.string();
  if (!bubblewrap.found) {
    bubblewrap.problem = "bwrap is not on PATH";
    co_return;
  }
  ToolRun version =
      co_await run_tool(processes, {.argv = {program, "--version"}, .time_limit = limit});
  bubblewrap.version = number_after(version.output, "bubblewrap ");

  // With a /proc of its own, because a candidate must not see ours: containers often refuse that.
  std::vector<std::string> argv{
      program, "--unshare-all", "--die-with-parent", "--ro-bind", "/", "/", "--proc", "/proc",
      "--dev", "/dev",          "--cap-drop",        "ALL",       "--"};
  argv.insert(argv.end(), witness.begin(), witness.end());
  ToolRun run = co_await run_tool(processes, {.argv = std::move(argv), .time_limit = limit});
  bubblewrap.works = run.ok;
  bubblewrap.problem = run.problem;
}

Confinement try_confinement() {
  Confinement result;
  try_user_namespace(result.user_namespaces);
  try_own_uid(result.own_uid);
  return result;
}

Json to_json(const Confinement& confinement) {
  return boost::json::object{{"user_namespaces", to_json(confinement.user_namespaces)},
                             {"own_uid", to_json(confinement.own_uid)}};
}

Task<void> probe_confinement(Processes& processes, std::vector<std::string> self, Duration limit,
                             SandboxFeatures& into) {
  auto answer = co_await ask_internal_probe(processes, std::move(self), "confinement", limit);
  if (!answer || !answer->is_object()) {
    std::string problem = answer ? "an answer that is none" : answer.error().context;
    into.user_namespaces.problem = into.own_uid.problem = problem;
    co_return;
  }
  const auto& reported = answer->get_object();
  if (const Json* part = reported.if_contains("user_namespaces")) {
    into.user_namespaces = component_from_json(*part);
  }
  if (const Json* part = reported.if_contains("own_uid")) into.own_uid = component_from_json(*part);
}

}  // namespace specgen
