#include "compare/paper_figures.h"

#include <array>

namespace specgen {
namespace {

constexpr std::string_view kMotivation = "motivation: shares of phases over ten tasks";
constexpr std::string_view kFeedback =
    "evaluation: iterations with feedback per 100, mean over tasks";
constexpr std::string_view kUse = "evaluation: utilisation of validation and profiling GPUs";
constexpr std::string_view kLift = "abstract: end-to-end time, three baselines, both models";
constexpr std::string_view kFaster = "abstract: speedup of kernels at equal time and tokens";

constexpr std::string_view kGlm = "glm", kDeepseek = "deepseek";

// Lifts are gains of specgen over the system named.
constexpr std::array kPublished{
    PaperFigure{kGlm, "cudaforge", "feedback_per_100", 36.3, 36.3, kFeedback},
    PaperFigure{kGlm, "alphaevolve", "feedback_per_100", 42.5, 42.5, kFeedback},
    PaperFigure{kGlm, "kernelagent", "feedback_per_100", 42.4, 42.4, kFeedback},
    PaperFigure{kGlm, "specgen", "feedback_per_100", 70.3, 70.3, kFeedback},
    PaperFigure{kGlm, "cudaforge", "feedback_lift", 2.13, 2.13, kFeedback},
    PaperFigure{kGlm, "alphaevolve", "feedback_lift", 1.78, 1.78, kFeedback},
    PaperFigure{kGlm, "kernelagent", "feedback_lift", 1.77, 1.77, kFeedback},
    PaperFigure{kGlm, "cudaforge", "utilization", 0.042, 0.050, kUse},
    PaperFigure{kGlm, "alphaevolve", "utilization", 0.042, 0.050, kUse},
    PaperFigure{kGlm, "kernelagent", "utilization", 0.042, 0.050, kUse},
    PaperFigure{kGlm, "specgen-split", "utilization", 0.562, 0.562, kUse},
    PaperFigure{kGlm, "specgen", "utilization", 0.882, 0.961, kUse},
    PaperFigure{kGlm, "cudaforge", "generation_share", 0.92, 0.99, kMotivation},
    PaperFigure{kGlm, "alphaevolve", "generation_share", 0.92, 0.99, kMotivation},
    PaperFigure{kGlm, "kernelagent", "generation_share", 0.92, 0.99, kMotivation},
    PaperFigure{kDeepseek, "cudaforge", "feedback_per_100", 40.7, 40.7, kFeedback},
    PaperFigure{kDeepseek, "alphaevolve", "feedback_per_100", 45.1, 45.1, kFeedback},
    PaperFigure{kDeepseek, "kernelagent", "feedback_per_100", 49.4, 49.4, kFeedback},
    PaperFigure{kDeepseek, "specgen", "feedback_per_100", 66.4, 66.4, kFeedback},
    PaperFigure{kDeepseek, "cudaforge", "feedback_lift", 1.63, 1.63, kFeedback},
    PaperFigure{kDeepseek, "alphaevolve", "feedback_lift", 1.47, 1.47, kFeedback},
    PaperFigure{kDeepseek, "kernelagent", "feedback_lift", 1.34, 1.34, kFeedback},
    PaperFigure{kDeepseek, "cudaforge", "utilization", 0.113, 0.176, kUse},
    PaperFigure{kDeepseek, "alphaevolve", "utilization", 0.113, 0.176, kUse},
    PaperFigure{kDeepseek, "kernelagent", "utilization", 0.113, 0.176, kUse},
    PaperFigure{kDeepseek, "specgen-split", "utilization", 0.747, 0.747, kUse},
    PaperFigure{kDeepseek, "specgen", "utilization", 0.882, 0.961, kUse},
    PaperFigure{kDeepseek, "cudaforge", "generation_share", 0.70, 0.98, kMotivation},
    PaperFigure{kDeepseek, "alphaevolve", "generation_share", 0.70, 0.98, kMotivation},
    PaperFigure{kDeepseek, "kernelagent", "generation_share", 0.70, 0.98, kMotivation},
};

// Published once for the three baselines and both models.
constexpr std::array kForBaselines{
    PaperFigure{{}, {}, "wall_lift", 1.68, 1.82, kLift},
    PaperFigure{{}, {}, "equal_time_lift", 1.24, 1.91, kFaster},
    PaperFigure{{}, {}, "equal_tokens_lift", 1.24, 1.91, kFaster},
};

}  // namespace

std::string_view paper_model_of(std::string_view scenario) {
  if (scenario.contains("paper-glm")) return kGlm;
  if (scenario.contains("paper-deepseek")) return kDeepseek;
  return {};
}

std::vector<PaperFigure> paper_figures(std::string_view model, std::string_view system) {
  std::vector<PaperFigure> figures;
  if (model.empty()) return figures;
  bool is_baseline = system == "cudaforge" || system == "alphaevolve" || system == "kernelagent";
  for (const PaperFigure& figure : kPublished) {
    if (figure.model == model && figure.system == system) figures.push_back(figure);
  }
  if (is_baseline) figures.insert(figures.end(), kForBaselines.begin(), kForBaselines.end());
  return figures;
}

}  // namespace specgen
