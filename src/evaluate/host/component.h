#pragma once
// One thing that a host may offer: a library, a program, a feature of its kernel. `found` is what a
// look says, `works` is what a try says, and only the second counts.

#include <string>

#include "base/json.h"

namespace specgen {

struct Component {
  std::string name = {};
  bool found = false;
  bool works = false;
  std::string path = {};     // where it lies
  std::string version = {};  // in its own words
  std::string problem = {};  // why it is not found or does not work, for a person
};

Json to_json(const Component& component);

// Takes what is there and leaves the rest at its default: the sender is a process of ours.
Component component_from_json(const Json& value);

}  // namespace specgen
