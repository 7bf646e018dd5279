#include "evaluate/sandbox/level_trial.h"

#include <gtest/gtest.h>

#include <string>

namespace specgen {
namespace {

std::string all_contained() {
  std::string told;
  for (const char* name :
       {"read-secret", "write-outside", "symlink-escape", "connect-out", "signal-host", "see-host",
        "ptrace-parent", "bad-syscalls", "new-namespace", "mount-something", "setuid-root",
        "device-nodes", "fork-bomb"}) {
    told += std::string(name) + " contained\n";
  }
  return told;
}

TEST(LevelTrial, holds_if_every_poison_was_contained) {
  for (SandboxLevel level : {SandboxLevel::lsm, SandboxLevel::namespaces, SandboxLevel::full}) {
    EXPECT_EQ(first_escape(level, all_contained()), "");
  }
}

TEST(LevelTrial, takes_silence_for_an_escape) {
  EXPECT_EQ(first_escape(SandboxLevel::lsm, ""), "read-secret did not answer");
  std::string told = all_contained();
  told.resize(told.rfind("fork-bomb"));
  EXPECT_EQ(first_escape(SandboxLevel::full, told), "fork-bomb did not answer");
}

TEST(LevelTrial, tells_what_escaped_and_is_not_fooled_by_likeness) {
  std::string told = all_contained();
  std::string honest = "connect-out contained";
  told.replace(told.find(honest), honest.size(), "connect-out escaped: 127.0.0.1 contained");
  EXPECT_EQ(first_escape(SandboxLevel::lsm, told), "connect-out escaped: 127.0.0.1 contained");
  EXPECT_EQ(first_escape(SandboxLevel::lsm, "read-secrets contained\n"),
            "read-secret did not answer");
}

}  // namespace
}  // namespace specgen
