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

void tell(std::string_view name, const Escape& escape) {
  std::string line = escape.empty() ? fmt::format("{} contained\n", name)
                                    : fmt::format("{} escaped: {}\n", name, escape);
  (void)write_all(kResults, line);
}

// SECRET FOLDER PORT PROCESS NAMESPACE FORKS, as words_of() writes them.
Escape self_test(std::span<const std::string> words) {
  if (words.size() != 6) return "self-test needs six words";
  auto secret = words.subspan(0, 1), folder = words.subspan(1, 1), port = words.subspan(2, 1),
       process = words.subspan(3, 2);
  tell("read-secret", poison::read_secret(secret));
  tell("write-outside", poison::write_outside(folder));
  tell("symlink-escape", poison::symlink_escape(folder));
  tell("connect-out", poison::connect_out(port));
  tell("signal-host", poison::signal_host(process));
  tell("see-host", poison::see_host(process));
  tell("ptrace-parent", poison::ptrace_parent({}));
  tell("bad-syscalls", poison::bad_syscalls({}));
  tell("new-namespace", poison::new_namespace({}));
  tell("mount-something", poison::mount_something({}));
  tell("setuid-root", poison::setuid_root({}));
  tell("device-nodes", poison::device_nodes({}));
  int most = std::atoi(words[5].c_str());
  int forks = poison::count_forks(2 * most);
  tell("fork-bomb", forks > most ? fmt::format("{} processes were given", forks) : "");
  poison::daemon({});  // told by whoever waits for descriptor 3 to close
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

std::vector<std::string> words_of(const PoisonTargets& targets) {
  return {targets.secret_file,          targets.open_folder,
          std::to_string(targets.port), std::to_string(targets.process),
          targets.pid_namespace,        std::to_string(targets.max_forks)};
}

void run_internal_poison(std::span<const std::string> words) {
  // Typed by hand it would do to the host what it is named after. A sandbox always has this mark.
  if (::prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) != 1) {
    (void)write_all(STDERR_FILENO, "internal-poison: only inside a sandbox\n");
    ::_exit(2);
  }
  for (const PoisonKind& each : poisons()) {
    if (words.empty() || each.name != words[0]) continue;
    Escape escape = each.run(words.subspan(1));
    (void)write_all(STDOUT_FILENO, escape.empty() ? "contained\n" : escape + "\n");
    ::_exit(escape.empty() ? kContained : kEscaped);
  }
  (void)write_all(STDERR_FILENO, "internal-poison: there is no such poison\n");
  ::_exit(2);
}

}  // namespace specgen
