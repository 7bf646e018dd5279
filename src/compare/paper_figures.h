#pragma once
// What the paper published, to stand beside what we measure (SpecGen, arXiv 2606.17518). Where it gives one range for
// several systems, each of them has that range. Nothing here is used in any computation of ours.

#include <string>
#include <string_view>
#include <vector>

namespace specgen {

struct PaperFigure {
  std::string_view model;   // "glm", "deepseek"
  std::string_view system;  // as systems() names it
  std::string_view figure;  // as the rows of a comparison name it
  double low = 0;
  double high = 0;         // equal to low where one number was given
  std::string_view where;  // in the paper
};

// "paper-glm" is about "glm"; empty if a scenario is none of the paper's.
std::string_view paper_model_of(std::string_view scenario);
std::vector<PaperFigure> paper_figures(std::string_view model, std::string_view system);

}  // namespace specgen
