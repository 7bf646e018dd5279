#include "evaluate/sandbox/level_trial.h"

#include <gtest/gtest.h>

#include <string>

namespace specgen {
namespace {

std::string all_contained() {
  std::string report;
  for (const char* name :
       {"read-secret", "write-outside", "symlink-escape", "connect-out", "signal-host", "see-host",
        "ptrace-parent", "bad-syscalls", "new-namespace", "mount-something", "setuid-root",
        "device-nodes", "fork-bomb"}) {
    report += std::string(name) + " contained\n";
  }
  return report;
}

TEST(LevelTrial, holds_if_every_attack_was_contained) {
  for (SandboxLevel level : {SandboxLevel::lsm, SandboxLevel::namespaces, SandboxLevel::full}) {
    EXPECT_EQ(first_escape(level, all_contained()), "");
  }
}

TEST(LevelTrial, counts_a_missing_answer_as_an_escape) {
  EXPECT_EQ(first_escape(SandboxLevel::lsm, ""), "read-secret did not answer");
  std::string report = all_contained();
  report.resize(report.rfind("fork-bomb"));
  EXPECT_EQ(first_escape(SandboxLevel::full, report), "fork-bomb did not answer");
}

TEST(LevelTrial, reports_what_escaped_and_compares_names_in_full) {
  std::string report = all_contained();
  std::string contained = "connect-out contained";
  report.replace(report.find(contained), contained.size(),
                 "connect-out escaped: 127.0.0.1 contained");
  EXPECT_EQ(first_escape(SandboxLevel::lsm, report), "connect-out escaped: 127.0.0.1 contained");
  EXPECT_EQ(first_escape(SandboxLevel::lsm, "read-secrets contained\n"),
            "read-secret did not answer");
}

}  // namespace
}  // namespace specgen
