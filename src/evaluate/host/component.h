#pragma once
// One thing that a host may have: a library, a program, a kernel feature. `found`: it exists; `works`: it was tried
// successfully, and only this counts.

#include <string>

#include "base/json.h"

namespace specgen {

struct Component {
  std::string name = {};
  bool found = false;
  bool works = false;
  std::string path = {};     // of the file
  std::string version = {};  // as it prints it
  std::string problem = {};  // why it is not found or does not work
};

Json to_json(const Component& component);

// Missing members keep their defaults: the sender is a process of ours.
Component component_from_json(const Json& value);

}  // namespace specgen
