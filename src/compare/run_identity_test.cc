#include "compare/run_identity.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "base/file.h"
#include "base/temporary_folder.h"

namespace specgen {
namespace {

namespace fs = std::filesystem;

// Fake shipped files.
struct Installed {
  Installed() {
    for (const char* name : {"prompts", "triggers"}) fs::create_directory(folder.path() / name);
    write("prompts/refine.md", "make it fast");
    write("triggers/any.toml", "family = 'any'");
  }
  void write(const char* name, std::string_view text) {
    EXPECT_TRUE(write_file_durably(folder.path() / name, text));
  }
  std::string identity(std::string_view version = "0.1.0") const {
    return run_identity(version, {.triggers = {folder.path() / "triggers"},
                                  .prompts = {folder.path() / "prompts"}})
        .value();
  }

  TemporaryFolder folder = TemporaryFolder::make().value();
};

TEST(RunIdentity, does_not_depend_on_the_location_of_the_files) {
  EXPECT_EQ(Installed().identity(), Installed().identity());
}

TEST(RunIdentity, differs_between_versions) {
  Installed installed;
  EXPECT_NE(installed.identity("0.2.0"), installed.identity());
}

TEST(RunIdentity, differs_with_the_content_of_prompts_and_triggers) {
  Installed installed;
  std::string before = installed.identity();
  installed.write("prompts/refine.md", "make it faster");
  EXPECT_NE(installed.identity(), before);
  installed.write("prompts/refine.md", "make it fast");
  EXPECT_EQ(installed.identity(), before);
  installed.write("triggers/glm.toml", "");
  EXPECT_NE(installed.identity(), before);
}

TEST(RunIdentity, ignores_a_missing_folder) {
  EXPECT_TRUE(run_identity("0.1.0", {.triggers = {""}, .prompts = {"nowhere"}}));
}

}  // namespace
}  // namespace specgen
