#pragma once
// What the reference process says of a problem, checked: it runs the user's Python, so nothing of it
// is believed. Names become C++ identifiers that differ from each other.

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "evaluate/task/cases.h"

namespace specgen {

// One argument of forward(): the next of the inputs, or a value that never changes.
struct ForwardArgument {
  std::string name;
  bool is_tensor = false;
  std::string value_json = {};        // "null", "3", "true"; for what is no tensor
  std::optional<double> number = {};  // the same, where it is a number
};

struct Description {
  std::string json;   // all of it, as it was told
  std::string torch;  // its version
  std::vector<ForwardArgument> arguments;
  std::vector<Tensor> inputs;                // named after forward()'s parameters
  std::vector<Tensor> parameters;            // and buffers, by their dotted name with underscores
  std::vector<std::string> parameter_names;  // as torch has them
  std::vector<Tensor> outputs;               // out0, out1, ...
  bool deterministic = false;                // two calls gave the same bits
  bool in_double = false;                    // the module runs in fp64: expected outputs are exact
};

// bad_message for what is no description; bad_task for one that we cannot judge: no tensor, an empty
// or absurdly large one, more than 4096 of them.
Result<Description> parse_description(std::string_view json);

// The function that a native candidate defines: "19_ReLU.py" gives relu. What C's library calls the
// same gets a suffix: "22_Tanh.py" gives tanh_task.
std::string entry_name(const std::filesystem::path& problem);

}  // namespace specgen
