#pragma once
// What everything that judges needs: the loop it runs on, its children, the sandbox, and how this
// very program is called to play another role.

#include <string>
#include <vector>

#include "evaluate/sandbox/sandbox.h"
#include "runtime/loop.h"
#include "runtime/real_driver.h"
#include "runtime/subprocess.h"

namespace specgen {

struct JudgeContext {
  Loop& loop;
  RealDriver& driver;
  Processes& processes;
  const Sandbox& sandbox;
  std::vector<std::string> self = {"/proc/self/exe"};
  std::string compiler = "g++";
  std::string python = "python3";
  std::string ncu = "ncu";
};

}  // namespace specgen
