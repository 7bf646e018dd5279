#include "evaluate/sandbox/control_group.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include "base/file.h"
#include "base/temporary_folder.h"

namespace specgen {
namespace {

TEST(ControlGroup, matches_the_full_name_of_a_kernel_counter) {
  EXPECT_EQ(counter_in("oom_kill_disable 1\nunder_oom 0\noom_kill 3\n", "oom_kill"), 3);
  EXPECT_EQ(counter_in("low 0\nhigh 0\nmax 9\noom 2\noom_kill 0\noom_group_kill 7\n", "oom_kill"),
            0);
  EXPECT_EQ(counter_in("oom_kill_disable 1\n", "oom_kill"), std::nullopt);
  EXPECT_EQ(counter_in("oom_kill many\n", "oom_kill"), std::nullopt);
  EXPECT_EQ(counter_in("", "oom_kill"), std::nullopt);
}

TEST(ControlGroup, finds_the_creator_in_its_name_and_ignores_other_names) {
  EXPECT_EQ(creator_from_name("specgen-123-4", "specgen"), 123);
  for (const char* other : {"specgen", "specgen-", "specgen-1", "specgen--1", "specgen-1-",
                            "specgen-x-1", "specgen-1-x", "specgen-1-2-3", "specgen-0-1",
                            "specgen-99999999999-1", "other-1-2", "specgenx-1-2", "specgen-1-2 "}) {
    EXPECT_EQ(creator_from_name(other, "specgen"), std::nullopt) << other;
  }
}

TEST(ControlGroup, of_a_dead_process_is_removed_and_no_other) {
  TemporaryFolder folder = *TemporaryFolder::make();
  // Above the kernel's largest pid.
  auto dead = folder.path() / "specgen-2147483647-1";
  auto living = folder.path() / ("specgen-" + std::to_string(::getpid()) + "-1");
  auto foreign = folder.path() / "user-2147483647-1";
  for (const auto& path : {dead, living, foreign}) std::filesystem::create_directory(path);
  Cgroups cgroups;
  cgroups.memory_folder = folder.path();
  remove_groups_of_dead_processes(cgroups);
  EXPECT_FALSE(std::filesystem::exists(dead));
  EXPECT_TRUE(std::filesystem::exists(living));
  EXPECT_TRUE(std::filesystem::exists(foreign));
}

TEST(ControlGroup, whose_limit_cannot_be_set_is_an_error_and_is_removed) {
  TemporaryFolder folder =
      *TemporaryFolder::make();  // not a control group: it has no limits to set
  for (const char* version : {"v1", "v2"}) {
    Cgroups cgroups;
    cgroups.cgroup.version = version;
    cgroups.memory_folder = cgroups.pids_folder = folder.path();
    EXPECT_FALSE(ControlGroup::make(cgroups, MiB(64), 8).has_value());
    EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
  }
}

}  // namespace
}  // namespace specgen
