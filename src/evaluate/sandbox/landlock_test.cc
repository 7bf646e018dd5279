#include "evaluate/sandbox/landlock.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/temporary_folder.h"
#include "evaluate/host/sandbox_features.h"

namespace specgen {
namespace {

bool opens(const std::filesystem::path& path, int flags) {
  return bool(Fd(::open(path.c_str(), flags | O_CLOEXEC, 0600)));
}

TEST(Landlock, opens_what_is_listed_and_nothing_else) {
  SandboxFeatures features;
  ask_kernel_for_sandbox(features);
  if (!features.landlock.works) GTEST_SKIP() << features.landlock.problem;
  TemporaryFolder folder = *TemporaryFolder::make();
  auto read_only = folder.path() / "read", writable = folder.path() / "write",
       hidden = folder.path() / "hidden";
  for (const auto& each : {read_only, writable, hidden}) {
    std::filesystem::create_directory(each);
    ASSERT_TRUE(write_file_durably(each / "file", "x").has_value());
  }
  pid_t child = ::fork();
  if (child == 0) {
    auto ruleset = make_landlock_ruleset({.read_only = {read_only, "/no/such/path"},
                                          .writable = {writable},
                                          .devices = {"/dev/null"}});
    if (!ruleset || !enforce_landlock(*ruleset)) ::_exit(100);
    int wrong = 0;
    int step = 1;
    for (bool right :
         {opens(read_only / "file", O_RDONLY), !opens(read_only / "file", O_WRONLY),
          !opens(read_only / "new", O_WRONLY | O_CREAT), opens(writable / "file", O_RDWR),
          opens(writable / "new", O_WRONLY | O_CREAT), !opens(hidden / "file", O_RDONLY),
          !opens(hidden / "new", O_WRONLY | O_CREAT), !opens("/etc/passwd", O_RDONLY),
          opens("/dev/null", O_RDWR), !opens("/", O_RDONLY)}) {
      if (!right && wrong == 0) wrong = step;
      ++step;
    }
    ::_exit(wrong);
  }
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0) << "the number of the first wrong result, counted from one";
}

}  // namespace
}  // namespace specgen
