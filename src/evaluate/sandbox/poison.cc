#include "evaluate/sandbox/poison.h"

#include <fmt/core.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <cstdlib>

#include "base/file.h"
#include "evaluate/sandbox/poison_parts.h"

namespace specgen {
namespace {

constexpr int kResults = 3;  // the descriptor

void report(std::string_view name, const Escape& escape) {
  std::string line = escape.empty() ? fmt::format("{} contained\n", name)
                                    : fmt::format("{} escaped: {}\n", name, escape);
  (void)write_all(kResults, line);
}

// SECRET FOLDER PORT PROCESS NAMESPACE FORKS, as arguments_of() writes them.
Escape self_test(std::span<const std::string> arguments) {
  if (arguments.size() != 6) return "self-test needs six arguments";
  auto secret = arguments.subspan(0, 1), folder = arguments.subspan(1, 1),
       port = arguments.subspan(2, 1), process = arguments.subspan(3, 2);
  report("read-secret", poison::read_secret(secret));
  report("write-outside", poison::write_outside(folder));
  report("symlink-escape", poison::symlink_escape(folder));
  report("connect-out", poison::connect_out(port));
  report("signal-host", poison::signal_host(process));
  report("see-host", poison::see_host(process));
  report("ptrace-parent", poison::ptrace_parent({}));
  report("bad-syscalls", poison::bad_syscalls({}));
  report("new-namespace", poison::new_namespace({}));
  report("mount-something", poison::mount_something({}));
  report("setuid-root", poison::setuid_root({}));
  report("device-nodes", poison::device_nodes({}));
  int max_forks = std::atoi(arguments[5].c_str());
  int forks = poison::count_forks(2 * max_forks);
  report("fork-bomb", forks > max_forks ? fmt::format("{} processes were created", forks) : "");
  poison::daemon({});  // the caller checks that descriptor 3 is closed
  return {};
}

}  // namespace

std::vector<PoisonKind> poisons() {
  using namespace poison;
  return {
      {"fork-bomb", fork_bomb},
      {"memory-hog", memory_hog},
      {"reserve-100g", reserve_100g},
      {"endless-loop", endless_loop},
      {"endless-output", endless_output},
      {"disk-fill", disk_fill},
      {"daemon", daemon},
      {"connect-out", connect_out},
      {"read-secret", read_secret},
      {"write-outside", write_outside},
      {"symlink-escape", symlink_escape},
      {"kill-all", kill_all},
      {"ptrace-parent", ptrace_parent},
      {"stop-self", stop_self},
      {"close-descriptors", close_descriptors},
      {"mount-something", mount_something},
      {"new-namespace", new_namespace},
      {"bad-syscalls", bad_syscalls},
      {"deep-recursion", deep_recursion},
      {"setuid-root", setuid_root},
      {"device-nodes", device_nodes},
      {"proc-write", proc_write},
      {"signal-parent", signal_parent},
      {"self-test", self_test},
  };
}

std::vector<std::string> arguments_of(const PoisonTargets& targets) {
  return {targets.secret_file,          targets.open_folder,
          std::to_string(targets.port), std::to_string(targets.process),
          targets.pid_namespace,        std::to_string(targets.max_forks)};
}

void run_internal_poison(std::span<const std::string> arguments) {
  // Outside a sandbox it would damage the host. Inside this flag is always set.
  if (::prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) != 1) {
    (void)write_all(STDERR_FILENO, "internal-poison: only inside a sandbox\n");
    ::_exit(2);
  }
  for (const PoisonKind& each : poisons()) {
    if (arguments.empty() || each.name != arguments[0]) continue;
    Escape escape = each.run(arguments.subspan(1));
    (void)write_all(STDOUT_FILENO, escape.empty() ? "contained\n" : escape + "\n");
    ::_exit(escape.empty() ? kContained : kEscaped);
  }
  (void)write_all(STDERR_FILENO, "internal-poison: unknown program\n");
  ::_exit(2);
}

}  // namespace specgen
