#include "evaluate/sandbox/bubblewrap.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace specgen {
namespace {

using Strings = std::vector<std::string>;

HostPaths host() {
  return {.read_only = {"/usr", "/etc/ld.so.cache"},
          .links = {{"/bin", "usr/bin"}},
          .devices = {"/dev/nvidia0"}};
}

std::ptrdiff_t position(const Strings& arguments, const Strings& wanted) {
  auto found = std::ranges::search(arguments, wanted);
  EXPECT_FALSE(found.empty()) << wanted.front() << " " << wanted.back();
  return found.begin() - arguments.begin();
}

bool has(const Strings& arguments, const std::string& wanted) {
  return std::ranges::find(arguments, wanted) != arguments.end();
}

SandboxSpec spec() {
  SandboxSpec spec{.level = SandboxLevel::full, .bubblewrap = "/opt/bwrap", .uid = 60000};
  spec.limits.tmp_size = MiB(3);
  spec.environment = {"A=b=c", "broken", "=worse"};
  return spec;
}

TEST(Bubblewrap, shares_no_namespace_and_ends_with_its_parent) {
  Strings arguments = bubblewrap_arguments(spec(), host(), {}, 9, {"prog", "--version"});
  EXPECT_EQ(arguments.front(), "/opt/bwrap");
  for (const char* flag : {"--unshare-user", "--unshare-pid", "--unshare-net", "--unshare-ipc",
                           "--unshare-uts", "--die-with-parent", "--new-session", "--clearenv"}) {
    EXPECT_TRUE(has(arguments, flag)) << flag;
  }
  position(arguments, {"--seccomp", "9", "--", "prog", "--version"});
  EXPECT_EQ(arguments.back(), "--version");
}

TEST(Bubblewrap, binds_in_an_order_that_hides_nothing) {
  Strings arguments =
      bubblewrap_arguments(spec(), host(), {{"/stage/0", "/tmp/view"}}, 9, {"prog"});
  auto tmp = position(arguments, {"--size", "3145728", "--tmpfs", "/tmp"});
  auto view = position(arguments, {"--ro-bind", "/stage/0", "/tmp/view"});
  auto closed = position(arguments, {"--remount-ro", "/"});
  EXPECT_LT(tmp, view) << "the empty folder would hide the view";
  EXPECT_LT(view, closed) << "nothing can be bound on what is read-only";
  EXPECT_LT(position(arguments, {"--dev", "/dev"}),
            position(arguments, {"--dev-bind", "/dev/nvidia0"}));
  EXPECT_LT(position(arguments, {"--perms", "0755", "--dir", "/etc"}),
            position(arguments, {"--ro-bind", "/etc/ld.so.cache"}));
  position(arguments, {"--symlink", "usr/bin", "/bin"});
}

TEST(Bubblewrap, ignores_malformed_variables) {
  Strings arguments = bubblewrap_arguments(spec(), host(), {}, 9, {"prog"});
  position(arguments, {"--setenv", "A", "b=c"});
  EXPECT_EQ(std::ranges::count(arguments, "--setenv"), 1);
}

TEST(Bubblewrap, keeps_only_the_capability_to_change_the_uid_inside) {
  SandboxSpec outside = spec();
  outside.user_namespace = false;
  Strings arguments = bubblewrap_arguments(outside, host(), {}, 9, {"prog"});
  EXPECT_FALSE(has(arguments, "--unshare-user"));
  EXPECT_EQ(std::ranges::count(arguments, "--cap-add"), 2);
  EXPECT_LT(position(arguments, {"--cap-drop", "ALL"}),
            position(arguments, {"--cap-add", "CAP_SETUID"}));
  outside.uid = 0;
  EXPECT_FALSE(has(bubblewrap_arguments(outside, host(), {}, 9, {"prog"}), "--cap-add"));
}

TEST(Bubblewrap, shows_devices_and_sys_only_with_a_gpu) {
  HostPaths plain = find_host_paths(false);
  EXPECT_TRUE(plain.devices.empty());
  EXPECT_FALSE(has(plain.read_only, "/sys"));
  EXPECT_TRUE(has(plain.read_only, "/usr"));
  EXPECT_TRUE(has(find_host_paths(true).read_only, "/sys"));
}

}  // namespace
}  // namespace specgen
