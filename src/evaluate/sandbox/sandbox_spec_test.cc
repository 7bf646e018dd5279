#include "evaluate/sandbox/sandbox_spec.h"

#include <gtest/gtest.h>

namespace specgen {
namespace {

SandboxSpec full() {
  return {.level = SandboxLevel::full,
          .bubblewrap = "/usr/bin/bwrap",
          .user_namespace = false,
          .disable_user_namespaces = true,
          .join = {"/a/cgroup.procs", "/b/cgroup.procs"},
          .uid = 0x7fffffff,
          .limits = {.memory = GiB(100),
                     .processes = 3,
                     .cpu_time = std::chrono::milliseconds(1500),
                     .file_size = MiB(1),
                     .tmp_size = MiB(2)},
          .limit_address_space = true,
          .gpu = true,
          .own_program = true,
          .read_only = {"/a b", "/\"quoted\"\n"},
          .environment = {"A=1", "B=x=y"},
          .folder = "/folder",
          .private_tmp = "/private",
          .filter = FilterProgram("\0\1\2\3\4\5\6\377", 8)};
}

TEST(SandboxSpec, survives_the_way_to_the_launcher) {
  std::string text = to_text(full());
  auto read = parse_sandbox_spec(text);
  ASSERT_TRUE(read.has_value());
  EXPECT_EQ(to_text(*read), text);
  EXPECT_EQ(read->limits.memory, GiB(100));
  EXPECT_EQ(read->uid, 0x7fffffffU);
  EXPECT_EQ(read->read_only, full().read_only);
  EXPECT_FALSE(read->user_namespace);
  EXPECT_EQ(read->filter, full().filter);
}

TEST(SandboxSpec, without_a_level_a_limit_or_a_filter_is_refused) {
  EXPECT_FALSE(parse_sandbox_spec("").has_value());
  EXPECT_FALSE(parse_sandbox_spec("[]").has_value());
  EXPECT_FALSE(parse_sandbox_spec("{}").has_value());
  SandboxSpec none = full();
  none.level = SandboxLevel::none;
  EXPECT_FALSE(parse_sandbox_spec(to_text(none)).has_value());
  for (auto break_it : {+[](SandboxSpec& spec) { spec.limits.memory = {}; },
                        +[](SandboxSpec& spec) { spec.limits.processes = 0; },
                        +[](SandboxSpec& spec) { spec.limits.cpu_time = Duration(-1); },
                        +[](SandboxSpec& spec) { spec.limits.file_size = {}; },
                        +[](SandboxSpec& spec) { spec.limits.tmp_size = {}; },
                        +[](SandboxSpec& spec) { spec.filter = {}; },
                        +[](SandboxSpec& spec) { spec.filter.pop_back(); }}) {
    SandboxSpec spec = full();
    break_it(spec);
    EXPECT_FALSE(parse_sandbox_spec(to_text(spec)).has_value()) << to_text(spec);
  }
}

}  // namespace
}  // namespace specgen
