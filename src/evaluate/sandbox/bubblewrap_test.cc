#include "evaluate/sandbox/bubblewrap.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace specgen {
namespace {

using Words = std::vector<std::string>;

HostPaths host() {
  return {.read_only = {"/usr", "/etc/ld.so.cache"},
          .links = {{"/bin", "usr/bin"}},
          .devices = {"/dev/nvidia0"}};
}

std::ptrdiff_t place(const Words& words, const Words& wanted) {
  auto found = std::ranges::search(words, wanted);
  EXPECT_FALSE(found.empty()) << wanted.front() << " " << wanted.back();
  return found.begin() - words.begin();
}

bool has(const Words& words, const std::string& word) {
  return std::ranges::find(words, word) != words.end();
}

SandboxSpec spec() {
  SandboxSpec spec{.level = SandboxLevel::full, .bubblewrap = "/opt/bwrap", .uid = 60000};
  spec.limits.tmp_size = MiB(3);
  spec.environment = {"A=b=c", "broken", "=worse"};
  return spec;
}

TEST(Bubblewrap, is_called_with_nothing_shared_and_dies_with_us) {
  Words words = bubblewrap_arguments(spec(), host(), {}, 9, {"prog", "--version"});
  EXPECT_EQ(words.front(), "/opt/bwrap");
  for (const char* flag : {"--unshare-user", "--unshare-pid", "--unshare-net", "--unshare-ipc",
                           "--unshare-uts", "--die-with-parent", "--new-session", "--clearenv"}) {
    EXPECT_TRUE(has(words, flag)) << flag;
  }
  place(words, {"--seccomp", "9", "--", "prog", "--version"});
  EXPECT_EQ(words.back(), "--version");
}

TEST(Bubblewrap, binds_in_an_order_in_which_nothing_hides_what_follows) {
  Words words = bubblewrap_arguments(spec(), host(), {{"/stage/0", "/tmp/view"}}, 9, {"prog"});
  auto tmp = place(words, {"--size", "3145728", "--tmpfs", "/tmp"});
  auto view = place(words, {"--ro-bind", "/stage/0", "/tmp/view"});
  auto closed = place(words, {"--remount-ro", "/"});
  EXPECT_LT(tmp, view) << "the empty folder would hide the view";
  EXPECT_LT(view, closed) << "nothing can be bound on what is read-only";
  EXPECT_LT(place(words, {"--dev", "/dev"}), place(words, {"--dev-bind", "/dev/nvidia0"}));
  EXPECT_LT(place(words, {"--perms", "0755", "--dir", "/etc"}),
            place(words, {"--ro-bind", "/etc/ld.so.cache"}));
  place(words, {"--symlink", "usr/bin", "/bin"});
}

TEST(Bubblewrap, sets_whole_variables_only) {
  Words words = bubblewrap_arguments(spec(), host(), {}, 9, {"prog"});
  place(words, {"--setenv", "A", "b=c"});
  EXPECT_EQ(std::ranges::count(words, "--setenv"), 1);
}

TEST(Bubblewrap, keeps_only_the_right_to_change_the_user_where_that_is_done_inside) {
  SandboxSpec outside = spec();
  outside.user_namespace = false;
  Words words = bubblewrap_arguments(outside, host(), {}, 9, {"prog"});
  EXPECT_FALSE(has(words, "--unshare-user"));
  EXPECT_EQ(std::ranges::count(words, "--cap-add"), 2);
  EXPECT_LT(place(words, {"--cap-drop", "ALL"}), place(words, {"--cap-add", "CAP_SETUID"}));
  outside.uid = 0;
  EXPECT_FALSE(has(bubblewrap_arguments(outside, host(), {}, 9, {"prog"}), "--cap-add"));
}

TEST(Bubblewrap, shows_devices_and_the_systems_own_tree_for_a_gpu_alone) {
  HostPaths plain = find_host_paths(false);
  EXPECT_TRUE(plain.devices.empty());
  EXPECT_FALSE(has(plain.read_only, "/sys"));
  EXPECT_TRUE(has(plain.read_only, "/usr"));
  EXPECT_TRUE(has(find_host_paths(true).read_only, "/sys"));
}

}  // namespace
}  // namespace specgen
