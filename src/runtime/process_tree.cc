#include "runtime/process_tree.h"

#include <fmt/core.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <filesystem>

#include "base/file.h"
#include "base/text.h"

namespace specgen {
namespace fs = std::filesystem;

std::vector<pid_t> children_of(pid_t pid) {
  std::vector<pid_t> children;
  std::error_code error;
  fs::directory_iterator threads(fmt::format("/proc/{}/task", pid), error);
  for (; !error && threads != fs::directory_iterator(); threads.increment(error)) {
    auto listed = read_file(threads->path() / "children");
    if (!listed) continue;
    for (std::string_view word : split(*listed, ' ')) {
      pid_t child = 0;
      std::from_chars(word.data(), word.data() + word.size(), child);
      if (child > 0) children.push_back(child);
    }
  }
  return children;
}

std::vector<pid_t> descendants_of(pid_t pid) {
  std::vector<pid_t> all = children_of(pid);
  for (std::size_t i = 0; i < all.size(); ++i) {
    std::vector<pid_t> below = children_of(all[i]);
    all.insert(all.end(), below.begin(), below.end());
  }
  return all;
}

void kill_with_descendants(pid_t root) {
  // Repeated until no new process is found: a fork bomb makes children meanwhile. The bound is for trees that grow
  // faster; what is left of them is reparented to this process and killed by Processes.
  constexpr int kMaxPasses = 16;
  std::vector<pid_t> stopped{root};
  ::kill(root, SIGSTOP);
  for (int pass = 0; pass < kMaxPasses; ++pass) {
    std::size_t before = stopped.size();
    for (pid_t pid : descendants_of(root)) {
      if (std::ranges::find(stopped, pid) != stopped.end()) continue;
      ::kill(pid, SIGSTOP);
      stopped.push_back(pid);
    }
    if (stopped.size() == before) break;
  }
  for (pid_t pid : stopped) ::kill(pid, SIGKILL);
  ::kill(-root, SIGKILL);  // our children lead a group of their own
}

}  // namespace specgen
