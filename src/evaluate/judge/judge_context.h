#pragma once
// What every part of a judge needs: the loop, child processes, the sandbox, and the programs it calls. `self` is how
// this program starts itself in another role (cli/program.cc).

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
