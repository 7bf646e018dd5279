#pragma once
// Figures published in the paper (SpecGen, arXiv 2606.17518), shown beside our measurements and used in no computation.
// Where the paper gives one range for several systems, each of them has that range.

#include <string>
#include <string_view>
#include <vector>

namespace specgen {

struct PaperFigure {
  std::string_view model;   // "glm", "deepseek"
  std::string_view system;  // as systems() names it
  std::string_view figure;  // as the rows of a comparison name it
  double low = 0;
  double high = 0;         // equal to low for a single number
  std::string_view where;  // in the paper
};

// "glm" for "paper-glm"; empty for a scenario that is not from the paper.
std::string_view paper_model_of(std::string_view scenario);
std::vector<PaperFigure> paper_figures(std::string_view model, std::string_view system);

}  // namespace specgen
