// The front door refuses what it must, in words that help.

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "base/file.h"
#include "base/temporary_folder.h"
#include "runtime/subprocess.h"

namespace specgen {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

class Scripts : public testing::Test {
 protected:
  Finished run(std::vector<std::string> argv,
               std::optional<std::vector<std::string>> environment = {}) {
    auto finished = loop_.run(processes_.run({.argv = std::move(argv),
                                              .environment = std::move(environment),
                                              .folder = SPECGEN_SOURCE_DIR,
                                              .time_limit = 60s}));
    EXPECT_TRUE(finished) << finished.error().text();
    return finished ? *finished : Finished{};
  }

  RealDriver driver_{1};
  Loop loop_{driver_};
  Processes processes_{loop_, driver_};
  TemporaryFolder temporary_ = TemporaryFolder::make().value();
  fs::path folder_ = temporary_.path();
};

TEST_F(Scripts, an_unknown_preset_is_refused_with_the_nearest) {
  Finished build = run({SPECGEN_SOURCE_DIR "/scripts/build", "relase"});
  EXPECT_EQ(build.exit.code, 2);
  EXPECT_NE(build.error_output.find("there is no preset 'relase'; did you mean 'release'?"),
            std::string::npos)
      << build.error_output;
}

TEST_F(Scripts, another_system_gets_a_list_of_what_is_missing) {
  std::ofstream(folder_ / "os-release") << "ID=fedora\nVERSION_ID=41\n";
  std::string os_release = "SPECGEN_OS_RELEASE=" + (folder_ / "os-release").string();
  Finished setup = run({"/bin/bash", "scripts/setup"},
                       std::vector<std::string>{os_release, "PATH=/nonexistent"});
  EXPECT_EQ(setup.exit.code, 3);
  EXPECT_NE(setup.error_output.find("program clang++-19   (Debian: clang-19)"), std::string::npos)
      << setup.error_output;
  EXPECT_EQ(setup.error_output.find("fmt/"), std::string::npos)
      << "a header that is there is named as missing";
}

TEST_F(Scripts, another_system_with_everything_there_is_welcome) {
  std::ofstream(folder_ / "os-release") << "ID=fedora\nVERSION_ID=41\n";
  std::string os_release = "SPECGEN_OS_RELEASE=" + (folder_ / "os-release").string();
  Finished setup = run({"/bin/bash", "scripts/setup"},
                       std::vector<std::string>{os_release, "PATH=/usr/local/bin:/usr/bin:/bin"});
  EXPECT_EQ(setup.exit.code, 0) << setup.error_output;
}

TEST_F(Scripts, gcc_is_refused_with_the_reason) {
  Finished cmake =
      run({"cmake", "-S", ".", "-B", folder_, "-G", "Ninja", "-DCMAKE_CXX_COMPILER=g++"});
  EXPECT_NE(cmake.exit.code, 0);
  EXPECT_NE(cmake.error_output.find("miscompiles coroutines"), std::string::npos)
      << cmake.error_output;
}

}  // namespace
}  // namespace specgen
