#include "base/cache_folder.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <fstream>

#include "base/environment.h"
#include "base/temporary_folder.h"

namespace specgen {
namespace {

namespace fs = std::filesystem;

class CacheFolder : public testing::Test {
 protected:
  void TearDown() override {
    restore("XDG_CACHE_HOME", cache_);
    restore("HOME", home_);
  }
  static void restore(const char* name, const std::optional<std::string>& value) {
    value ? ::setenv(name, value->c_str(), 1) : ::unsetenv(name);
  }
  TemporaryFolder folder_ = std::move(*TemporaryFolder::make());
  std::optional<std::string> cache_ = environment_variable("XDG_CACHE_HOME");
  std::optional<std::string> home_ = environment_variable("HOME");
};

TEST_F(CacheFolder, is_created_below_xdg_cache_home) {
  ::setenv("XDG_CACHE_HOME", (folder_.path() / "deep" / "cache").c_str(), 1);
  ::setenv("HOME", (folder_.path() / "home").c_str(), 1);
  auto folder = cache_folder("ceilings");
  ASSERT_TRUE(folder.has_value());
  EXPECT_EQ(*folder, folder_.path() / "deep" / "cache" / "specgen" / "ceilings");
  EXPECT_TRUE(fs::is_directory(*folder));
  EXPECT_EQ(cache_folder("ceilings"), folder) << "a second time it is there already";
  EXPECT_FALSE(fs::exists(folder_.path() / "home"));
}

TEST_F(CacheFolder, is_below_the_home_folder_by_default) {
  ::setenv("HOME", folder_.path().c_str(), 1);
  for (bool set_but_empty : {false, true}) {
    set_but_empty ? ::setenv("XDG_CACHE_HOME", "", 1) : ::unsetenv("XDG_CACHE_HOME");
    EXPECT_EQ(cache_folder("x"), folder_.path() / ".cache" / "specgen" / "x");
  }
}

TEST_F(CacheFolder, does_not_exist_without_a_home) {
  ::unsetenv("XDG_CACHE_HOME");
  ::unsetenv("HOME");
  EXPECT_FALSE(cache_folder("x").has_value());
}

TEST_F(CacheFolder, does_not_exist_if_a_file_has_its_name) {
  ::setenv("XDG_CACHE_HOME", folder_.path().c_str(), 1);
  std::ofstream(folder_.path() / "specgen") << "a file";
  EXPECT_FALSE(cache_folder("x").has_value());
}

}  // namespace
}  // namespace specgen
