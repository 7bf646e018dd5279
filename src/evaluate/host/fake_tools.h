#pragma once
// For tests: fake programs, and a loop with processes to run them.

#include <sys/stat.h>

#include <filesystem>
#include <string>
#include <string_view>
#include <utility>

#include "base/assert.h"
#include "base/file.h"
#include "base/temporary_folder.h"
#include "runtime/loop.h"
#include "runtime/real_driver.h"
#include "runtime/subprocess.h"

namespace specgen {

// A folder of shell scripts.
class FakeTools {
 public:
  FakeTools() : folder_(make()) {}

  // The path of a program that runs this script; "$@" are its arguments.
  std::string add(const std::string& name, std::string_view script) {
    std::filesystem::path path = folder_.path() / name;
    auto written = write_file_durably(path, "#!/bin/sh\n" + std::string(script) + "\n");
    SG_ASSERT(written.has_value() && ::chmod(path.c_str(), 0755) == 0, "a fake cannot be written");
    return path.string();
  }
  const std::filesystem::path& path() const { return folder_.path(); }

 private:
  static TemporaryFolder make() {
    auto folder = TemporaryFolder::make();
    SG_ASSERT(folder.has_value(), "there is no place for fakes");
    return std::move(*folder);
  }
  TemporaryFolder folder_;
};

struct ToolFixture {
  RealDriver driver{1};
  Loop loop{driver};
  Processes processes{loop, driver};

  template <class T>
  T run(Task<T> task) {
    return loop.run(std::move(task));
  }
};

}  // namespace specgen
