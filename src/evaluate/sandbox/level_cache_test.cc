#include "evaluate/sandbox/level_cache.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include "base/file.h"
#include "base/temporary_folder.h"

namespace specgen {
namespace {

KnownLevels some() {
  KnownLevels known;
  known.program = "program 1 2.3;";
  known.held = {{SandboxLevel::full, true}};
  known.bubblewrap.path = "/usr/bin/bwrap";
  known.bubblewrap.works = true;
  known.own_uid.works = true;
  return known;
}

TEST(LevelCache, is_valid_for_the_program_that_wrote_it) {
  KnownLevels read = parse_known_levels(to_text(some()), "program 1 2.3;");
  EXPECT_EQ(read.held, some().held);
  EXPECT_EQ(read.bubblewrap.path, "/usr/bin/bwrap");
  EXPECT_TRUE(read.own_uid.works);
  EXPECT_FALSE(read.user_namespaces.works);
  EXPECT_TRUE(parse_known_levels(to_text(some()), "program 1 2.4;").held.empty());
}

TEST(LevelCache, that_is_damaged_is_ignored) {
  for (const char* text :
       {"", "{", "[]", "{}", "{\"program\":\"p\"}", "{\"program\":\"p\",\"held\":[]}",
        "{\"program\":\"p\",\"held\":{\"L3\":1}}", "{\"program\":\"p\",\"held\":{\"L3\":true}}"}) {
    KnownLevels known = parse_known_levels(text, "p");
    EXPECT_TRUE(known.held.empty()) << text;
    EXPECT_EQ(known.program, "p");
  }
}

TEST(LevelCache, that_other_users_may_write_is_ignored) {
  TemporaryFolder folder = *TemporaryFolder::make();
  auto file = folder.path() / "deep" / "cache.json";
  EXPECT_TRUE(write_level_cache(file, some()));
  EXPECT_FALSE(read_level_cache(file, some().program).held.empty());
  ASSERT_EQ(::chmod(file.c_str(), 0666), 0);
  EXPECT_TRUE(read_level_cache(file, some().program).held.empty());
  ASSERT_EQ(::chmod(file.c_str(), 0600), 0);
  std::filesystem::create_symlink(file, folder.path() / "link");
  EXPECT_TRUE(read_level_cache(folder.path() / "link", some().program).held.empty());
  EXPECT_TRUE(read_level_cache({}, some().program).held.empty());
}

TEST(LevelCache, that_cannot_be_written_is_reported_and_stays_empty) {
  const std::filesystem::path file = "/proc/no-such-folder/cache.json";
  EXPECT_FALSE(write_level_cache(file, some()));
  EXPECT_TRUE(read_level_cache(file, some().program).held.empty());
  EXPECT_FALSE(write_level_cache({}, some()));
}

}  // namespace
}  // namespace specgen
