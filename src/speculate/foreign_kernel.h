#pragma once
// Whole programs that models write for other harnesses than ours: Triton functions or CUDA source in Python, with the
// function that launches them, and CUDA files with host code. Not one of them can be judged as it stands. Pure.

#include <string_view>

namespace specgen {

bool is_foreign_kernel(std::string_view code);

}  // namespace specgen
