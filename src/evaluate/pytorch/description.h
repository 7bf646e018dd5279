#pragma once
// The reference process' description of a problem, checked: that process runs the user's Python, so its answers are not
// trusted. Names become distinct C++ identifiers.

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "evaluate/task/cases.h"

namespace specgen {

// One argument of forward(): the next input tensor, or a constant.
struct ForwardArgument {
  std::string name;
  bool is_tensor = false;
  std::string value_json = {};        // "null", "3", "true"; if it is not a tensor
  std::optional<double> number = {};  // the same, if it is a number
};

struct Description {
  std::string json;   // the whole description as received
  std::string torch;  // its version
  std::vector<ForwardArgument> arguments;
  std::vector<Tensor> inputs;                // named after forward()'s parameters
  std::vector<Tensor> parameters;            // and buffers, by their dotted name with underscores
  std::vector<std::string> parameter_names;  // as in torch
  std::vector<Tensor> outputs;               // out0, out1, ...
  bool deterministic = false;                // two calls gave the same bits
  bool in_double = false;                    // the module runs in fp64: expected outputs are exact
};

// bad_message for a malformed description; bad_task for one that is not supported: no tensor, an empty or
// absurdly large
// one, more than 4096 of them.
Result<Description> parse_description(std::string_view json);

// The function that a native candidate defines: relu for "19_ReLU.py". Names of C library functions get a suffix:
// tanh_task for "22_Tanh.py".
std::string entry_name(const std::filesystem::path& problem);

}  // namespace specgen
