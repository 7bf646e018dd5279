#include "evaluate/host/sandbox_features.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "evaluate/host/cgroup_probe.h"
#include "evaluate/host/fake_tools.h"

namespace specgen {
namespace {

using namespace std::chrono_literals;
namespace fs = std::filesystem;

SandboxFeatures everything() {
  SandboxFeatures features;
  for (Component* each : {&features.bubblewrap, &features.user_namespaces, &features.landlock,
                          &features.seccomp, &features.cgroups.cgroup, &features.own_uid}) {
    each->works = true;
  }
  return features;
}

TEST(SandboxLevel, is_full_with_everything) {
  EXPECT_EQ(to_string(level_possible(everything())), "L3");
}

TEST(SandboxLevel, without_control_groups_is_one_less) {
  SandboxFeatures features = everything();
  features.cgroups.cgroup.works = false;
  EXPECT_EQ(to_string(level_possible(features)), "L2");
}

TEST(SandboxLevel, falls_with_what_is_missing) {
  auto without = [](auto... parts) {
    SandboxFeatures features = everything();
    (((features.*parts).works = false), ...);
    return to_string(level_possible(features));
  };
  using F = SandboxFeatures;
  EXPECT_EQ(without(&F::own_uid), "L2");
  EXPECT_EQ(without(&F::bubblewrap), "L1");
  EXPECT_EQ(without(&F::bubblewrap, &F::own_uid), "L0");
  EXPECT_EQ(without(&F::bubblewrap, &F::landlock), "L0");
  EXPECT_EQ(without(&F::seccomp), "L0");
  EXPECT_EQ(without(&F::landlock, &F::user_namespaces), "L3");
}

// Both kinds of mount, as Linux lists them.
constexpr const char* kMounts =
    "22 1 254:0 / / rw,relatime - ext4 /dev/root rw\n"
    "30 22 0:27 / /cg/memory rw,relatime shared:9 - cgroup cgroup rw,memory\n"
    "31 22 0:28 / /cg/both rw - cgroup cgroup rw,cpu,pids\n"
    "32 22 0:29 / /cg/unified rw - cgroup2 cgroup2 rw\n";

TEST(CgroupPlaces, are_found_in_the_tables_of_the_kernel) {
  auto places = cgroup_places(kMounts, "7:memory:/\n4:cpu,pids:/\n0::/\n");
  ASSERT_EQ(places.size(), 2U);
  EXPECT_EQ(places[0].version, "v2");
  EXPECT_EQ(places[0].memory, std::vector<fs::path>{"/cg/unified"});
  EXPECT_EQ(places[1].version, "v1");
  EXPECT_EQ(places[1].memory, std::vector<fs::path>{"/cg/memory"});
  EXPECT_EQ(places[1].pids, std::vector<fs::path>{"/cg/both"});
}

TEST(CgroupPlaces, need_both_controllers_in_v1) {
  auto places =
      cgroup_places("30 22 0:27 / /cg/memory rw - cgroup cgroup rw,memory\n", "7:memory:/\n");
  EXPECT_TRUE(places.empty());
  EXPECT_TRUE(cgroup_places("", "").empty());
  EXPECT_TRUE(cgroup_places("30 22 0:27\nnonsense - \n", "x\n:\n").empty());
}

TEST(CgroupPlaces, are_our_own_group_and_those_above) {
  FakeTools folders;
  fs::create_directories(folders.path() / "user.slice" / "session");
  std::string mount = "32 22 0:29 / " + folders.path().string() + " rw - cgroup2 cgroup2 rw\n";
  auto places = cgroup_places(mount, "0::/user.slice/session\n");
  ASSERT_EQ(places.size(), 1U);
  EXPECT_EQ(places[0].memory,
            (std::vector<fs::path>{folders.path() / "user.slice" / "session",
                                   folders.path() / "user.slice", folders.path()}));
  // A container sees its own group as the root of the mount.
  std::string bound =
      "32 22 0:29 /docker/77 " + folders.path().string() + " rw - cgroup2 cgroup2 rw\n";
  EXPECT_EQ(cgroup_places(bound, "0::/docker/77\n").at(0).memory,
            std::vector<fs::path>{folders.path()});
}

// A folder that is no cgroup takes groups, but gives them nothing to limit.
TEST(CgroupProbe, of_groups_without_limits_says_what_they_lack) {
  FakeTools folders;
  std::vector<CgroupPlace> places{{"v2", {folders.path()}, {folders.path()}}};
  Cgroups found = try_cgroups(places);
  EXPECT_FALSE(found.cgroup.works);
  EXPECT_EQ(found.cgroup.problem, "groups in " + folders.path().string() + " have no memory.max");
  EXPECT_TRUE(fs::is_empty(folders.path()));
  EXPECT_TRUE(found.closed_switch.empty());
}

TEST(CgroupProbe, finds_the_switch_that_the_root_has_not_turned) {
  FakeTools folders;
  fs::path gives = folders.path() / "cgroup.subtree_control";
  std::vector<CgroupPlace> places{{"v2", {folders.path()}, {folders.path()}}};
  ASSERT_TRUE(write_file_durably(folders.path() / "cgroup.controllers", "cpu memory pids\n"));
  ASSERT_TRUE(write_file_durably(gives, "memory\n"));
  EXPECT_EQ(try_cgroups(places).closed_switch, gives);
  ASSERT_TRUE(write_file_durably(gives, "memory pids\n"));
  EXPECT_EQ(try_cgroups(places).closed_switch, "");
  ASSERT_TRUE(write_file_durably(gives, "memory\n"));
  ASSERT_TRUE(write_file_durably(folders.path() / "cgroup.type", "domain\n"));
  EXPECT_EQ(try_cgroups(places).closed_switch, "") << "only the root may turn it";
}

TEST(CgroupProbe, without_any_mount_says_so) {
  EXPECT_EQ(try_cgroups({}).cgroup.problem, "no cgroup file system is mounted");
}

TEST(CgroupProbe, leaves_no_group_behind_and_gives_a_reason) {
  Cgroups found = probe_cgroups();
  const Component& cgroup = found.cgroup;
  EXPECT_EQ(cgroup.works, !found.memory_folder.empty() && !found.pids_folder.empty());
  EXPECT_NE(cgroup.works, cgroup.problem.size() > 0);
  EXPECT_EQ(cgroup.works, !cgroup.version.empty());
  std::string left = "specgen-probe-" + std::to_string(::getpid());
  std::error_code error;
  fs::recursive_directory_iterator all("/sys/fs/cgroup",
                                       fs::directory_options::skip_permission_denied, error);
  for (; !error && all != fs::recursive_directory_iterator(); all.increment(error)) {
    EXPECT_NE(all->path().filename().string(), left);
  }
}

class SandboxProbe : public testing::Test {
 protected:
  SandboxFeatures box_;
  FakeTools fakes_;
  ToolFixture fixture_;
};

TEST_F(SandboxProbe, bubblewrap_works_only_if_its_witness_does) {
  if (find_program("bwrap").empty()) GTEST_SKIP() << "there is no bubblewrap here";
  SandboxFeatures outer;
  fixture_.run(probe_bubblewrap(fixture_.processes, {"/bin/sh", "-c", "exit 0"}, 20s, outer));
  EXPECT_TRUE(outer.bubblewrap.found);
  EXPECT_NE(outer.bubblewrap.version, "");
  fixture_.run(probe_bubblewrap(fixture_.processes, {"/nowhere/witness"}, 20s, box_));
  EXPECT_FALSE(box_.bubblewrap.works);
  EXPECT_NE(box_.bubblewrap.problem, "");
}

TEST_F(SandboxProbe, confinement_is_what_the_child_has_tried) {
  std::string self =
      fakes_.add("self",
                 "echo '{\"user_namespaces\": {\"name\": \"u\", \"found\": true, \"works\": true}, "
                 "\"own_uid\": {\"problem\": \"cannot\"}}'");
  fixture_.run(probe_confinement(fixture_.processes, {self}, 10s, box_));
  EXPECT_TRUE(box_.user_namespaces.works);
  EXPECT_FALSE(box_.own_uid.works);
  EXPECT_EQ(box_.own_uid.problem, "cannot");
}

TEST_F(SandboxProbe, confinement_without_an_answer_does_not_work) {
  fixture_.run(probe_confinement(fixture_.processes, {fakes_.add("self", "exit 1")}, 10s, box_));
  EXPECT_FALSE(box_.user_namespaces.works);
  EXPECT_EQ(box_.own_uid.problem, "ends the process that calls it: exit code 1");
}

TEST(SandboxKernel, answers_are_consistent) {
  SandboxFeatures features;
  ask_kernel_for_sandbox(features);
  for (const Component* each : {&features.landlock, &features.seccomp, &features.cgroups.cgroup}) {
    EXPECT_EQ(each->works, each->problem.empty()) << each->name << ": " << each->problem;
  }
  EXPECT_EQ(features.landlock.works, !features.landlock.version.empty());
  EXPECT_EQ(features.is_root, ::geteuid() == 0);
}

}  // namespace
}  // namespace specgen
