#include "evaluate/sandbox/sandbox_identity.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <set>
#include <vector>

#include "base/file.h"
#include "base/temporary_folder.h"

namespace specgen {
namespace {

namespace fs = std::filesystem;

TEST(SandboxUid, is_mapped_if_the_kernels_map_contains_it) {
  constexpr const char* kHost = "         0          0 4294967295\n";
  constexpr const char* kContainer = "         0     100000      65536\n";
  EXPECT_TRUE(is_mapped(kHost, 0x7fffffff));
  EXPECT_TRUE(is_mapped(kContainer, 65535));
  EXPECT_FALSE(is_mapped(kContainer, 65536));
  EXPECT_FALSE(is_mapped("", 0));
  EXPECT_FALSE(is_mapped("0 0 many\n", 0));
  EXPECT_TRUE(is_mapped("0 1000 1\n1 100000 65536\n", 1));
}

TEST(SandboxUid, differs_for_each_sandbox_and_is_reused_after_it) {
  std::uint32_t first = SandboxUid::take().value();
  EXPECT_GE(first, 60000U);
  EXPECT_EQ(SandboxUid::take().value(), first);
  std::vector<SandboxUid> taken;
  std::set<std::uint32_t> seen;
  for (int i = 0; i < 64; ++i) {
    taken.push_back(SandboxUid::take());
    seen.insert(taken.back().value());
  }
  EXPECT_EQ(seen.size(), 64U);
  EXPECT_TRUE(seen.contains(SandboxUid::take().value())) << "more sandboxes than uids share them";
  taken.clear();
  EXPECT_EQ(SandboxUid::take().value(), first);
}

TEST(PrivateFolder, is_removed_with_its_contents_and_follows_no_link) {
  TemporaryFolder outside = *TemporaryFolder::make();
  ASSERT_TRUE(write_file_durably(outside.path() / "kept", "kept").has_value());
  fs::path path;
  {
    PrivateFolder folder = *PrivateFolder::make(0);
    path = folder.path();
    EXPECT_EQ(fs::status(path).permissions(), fs::perms::owner_all);
    fs::create_directories(path / "a" / "b");
    fs::create_directory_symlink(outside.path(), path / "a" / "link");
  }
  EXPECT_FALSE(fs::exists(path));
  EXPECT_TRUE(fs::exists(outside.path() / "kept"));
}

}  // namespace
}  // namespace specgen
