#include "compare/prefix_study.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json.hpp>
#include <set>

#include "base/text.h"
#include "report/svg.h"

namespace specgen {
namespace {

constexpr std::size_t kBins = 10;
constexpr std::string_view kControl = "control";

std::vector<PrefixBin> empty_bins() {
  std::vector<PrefixBin> bins(kBins);
  for (std::size_t i = 0; i < kBins; ++i) {
    bins[i].from = static_cast<double>(i) / kBins;
    bins[i].to = static_cast<double>(i + 1) / kBins;
  }
  return bins;
}

PrefixBin& bin_of(std::vector<PrefixBin>& bins, double share) {
  auto at = static_cast<std::size_t>(share * kBins);
  return bins[std::min(at, kBins - 1)];
}

// The final answers of a task before a stream begins.
struct AnswersSoFar {
  double sum = 0;
  std::int64_t count = 0;
  std::set<std::string> sources;  // by hash: a repeated one is not new
  double bar() const { return count == 0 ? 1 : sum / static_cast<double>(count); }
};

bool is_final(const CandidateState& candidate) {
  return candidate.found.origin == Origin::main && !candidate.found.shadow;
}

bool suffices(const CandidateState& candidate, const AnswersSoFar& so_far) {
  return candidate.judged && is_feedback(*candidate.judged) &&
         candidate.judged->speedup.low > so_far.bar() &&
         !so_far.sources.contains(candidate.found.source.sha256);
}

bool is_ok(const CandidateState& candidate) {
  return candidate.judged && !candidate.judged->withdrawn &&
         candidate.judged->verdict == Verdict::ok;
}

void lower(std::optional<double>& shortest, double share) {
  if (!shortest || share < *shortest) shortest = share;
}

class Folding {
 public:
  explicit Folding(const RunState& state) : state_(state) {
    study_.forks = empty_bins();
    study_.drafts = empty_bins();
    for (const auto& [id, candidate] : state.candidates) {
      found_[candidate.found.iteration].push_back(&candidate);
    }
  }

  PrefixStudy fold() && {
    for (const TaskState& task : state_.tasks) {
      AnswersSoFar so_far;
      for (IterationId id : task.iterations) {
        const IterationState& iteration = state_.iterations.at(id);
        bool has_ended = iteration.ended && (iteration.ended->end == IterationEnd::answered ||
                                             iteration.ended->end == IterationEnd::no_kernel);
        if (has_ended) add_stream(id, *iteration.ended, so_far);
      }
    }
    for (const auto& [id, call] : state_.calls) {
      if (!call.done) continue;
      std::int64_t tokens = call.done->usage.prompt_tokens + call.done->usage.completion_tokens;
      const std::string& purpose = call.sent.purpose;
      (purpose == "fork"     ? study_.fork_tokens
       : purpose == kControl ? study_.control_tokens
                             : study_.main_tokens) += tokens;
    }
    return std::move(study_);
  }

 private:
  void add_stream(IterationId id, const IterationEnded& ended, AnswersSoFar& so_far) {
    StudiedStream stream{.iteration = id, .tokens = ended.tokens, .bar = so_far.bar()};
    const CandidateState* answer = nullptr;
    for (const CandidateState* candidate : found_[id]) {
      if (is_final(*candidate)) answer = candidate;
    }
    if (answer && answer->found.prefix_tokens > 0) stream.tokens = answer->found.prefix_tokens;
    for (const CandidateState* candidate : found_[id]) {
      if (candidate != answer) add_candidate(stream, *candidate, so_far);
    }
    if (answer) {
      stream.answer_suffices = suffices(*answer, so_far);
      so_far.sources.insert(answer->found.source.sha256);
      if (answer->judged && is_feedback(*answer->judged)) {
        stream.answer = answer->judged->speedup.median;
        so_far.sum += *stream.answer;
        ++so_far.count;
      }
    }
    study_.streams.push_back(stream);
  }

  void add_candidate(StudiedStream& stream, const CandidateState& candidate,
                     const AnswersSoFar& so_far) {
    bool good = suffices(candidate, so_far);
    if (candidate.found.origin == Origin::main) {
      if (is_ok(candidate)) stream.control = candidate.judged->speedup.median;
      stream.control_suffices |= good;
      return;
    }
    double share = stream.tokens == 0
                       ? 1
                       : std::min(1.0, static_cast<double>(candidate.found.prefix_tokens) /
                                           static_cast<double>(stream.tokens));
    bool is_fork = candidate.found.origin == Origin::fork;
    PrefixBin& bin = bin_of(is_fork ? study_.forks : study_.drafts, share);
    ++bin.made;
    bin.ok += is_ok(candidate);
    bin.sufficed += good;
    if (good) lower(is_fork ? stream.by_fork : stream.by_draft, share);
  }

  const RunState& state_;
  std::map<IterationId, std::vector<const CandidateState*>> found_;
  PrefixStudy study_;
};

std::int64_t count_if(const PrefixStudy& study, bool (*is)(const StudiedStream&)) {
  return std::ranges::count_if(study.streams, is);
}

boost::json::array bins_json(const std::vector<PrefixBin>& bins) {
  boost::json::array all;
  for (const PrefixBin& bin : bins) {
    all.push_back({{"from", bin.from},
                   {"to", bin.to},
                   {"made", bin.made},
                   {"ok", bin.ok},
                   {"sufficed", bin.sufficed}});
  }
  return all;
}

Json or_null(const std::optional<double>& number) {
  return number ? Json(*number) : Json(nullptr);
}

std::string of_made(const PrefixBin& bin) {
  return bin.made == 0 ? "-" : fmt::format("{} of {}", bin.ok, bin.made);
}

}  // namespace

std::optional<double> StudiedStream::shortest() const {
  if (!by_fork || !by_draft) return by_fork ? by_fork : by_draft;
  return std::min(*by_fork, *by_draft);
}

double PrefixStudy::sufficed_by(double share) const {
  if (streams.empty()) return 0;
  auto within = std::ranges::count_if(streams, [&](const StudiedStream& stream) {
    return stream.shortest() && *stream.shortest() <= share;
  });
  return static_cast<double>(within) / static_cast<double>(streams.size());
}

double PrefixStudy::saved_share() const {
  double all = 0, saved = 0;
  for (const StudiedStream& stream : streams) {
    all += static_cast<double>(stream.tokens);
    saved += static_cast<double>(stream.tokens) * (1 - stream.shortest().value_or(1));
  }
  return all == 0 ? 0 : saved / all;
}

PrefixStudy prefix_study(const RunState& state) {
  return Folding(state).fold();
}

Json to_json(const PrefixStudy& study) {
  boost::json::array streams, cdf;
  for (const StudiedStream& stream : study.streams) {
    streams.push_back({{"iteration", to_string(stream.iteration)},
                       {"thinking_tokens", stream.tokens},
                       {"bar", stream.bar},
                       {"by_fork", or_null(stream.by_fork)},
                       {"by_draft", or_null(stream.by_draft)},
                       {"answer", or_null(stream.answer)},
                       {"answer_suffices", stream.answer_suffices},
                       {"control", or_null(stream.control)},
                       {"control_suffices", stream.control_suffices}});
  }
  for (int percent = 5; percent <= 100; percent += 5) {
    cdf.push_back({{"share", percent / 100.0}, {"sufficed", study.sufficed_by(percent / 100.0)}});
  }
  return {{"streams", std::move(streams)},
          {"cdf", std::move(cdf)},
          {"forks", bins_json(study.forks)},
          {"drafts", bins_json(study.drafts)},
          {"saved_share", study.saved_share()},
          {"tokens",
           {{"main", study.main_tokens},
            {"forks", study.fork_tokens},
            {"control", study.control_tokens}}}};
}

std::string study_text(const PrefixStudy& study) {
  constexpr int kBar = 30;
  std::string text = fmt::format(
      "{} reasoning streams. A kernel suffices if it is surely faster than the mean of the "
      "answers before.\n\n  reasoning  sufficed by then{:>27}{:>15}\n",
      study.streams.size(), "forks ok", "drafts ok");
  for (std::size_t i = 0; i < kBins; ++i) {
    double to = study.forks[i].to, share = study.sufficed_by(to);
    std::string bar;
    for (int mark = 0; mark < static_cast<int>(share * kBar + 0.5); ++mark) bar += "█";
    std::string padding(static_cast<std::size_t>(kBar) - bar.size() / 3, ' ');
    fmt::format_to(std::back_inserter(text), "  {:>6.0f} %   {:>3.0f} % {}{} {:>10}{:>15}\n",
                   100 * to, 100 * share, bar, padding, of_made(study.forks[i]),
                   of_made(study.drafts[i]));
  }
  auto all = static_cast<double>(std::max<std::size_t>(study.streams.size(), 1));
  auto share_of = [&](bool (*is)(const StudiedStream&)) {
    return 100 * static_cast<double>(count_if(study, is)) / all;
  };
  using Stream = const StudiedStream&;
  fmt::format_to(
      std::back_inserter(text),
      "\nSuffices: the final answer in {:.0f} % of the streams, a fork in {:.0f} %, a draft in "
      "{:.0f} %"
      "{}.\nStopping at the first that suffices would save {:.0f} % of the reasoning if evaluation "
      "took no time.\nTokens paid: {} for the streams, {} for the forks{}.\n",
      share_of([](Stream stream) { return stream.answer_suffices; }),
      share_of([](Stream stream) { return stream.by_fork.has_value(); }),
      share_of([](Stream stream) { return stream.by_draft.has_value(); }),
      study.control_tokens == 0 ? std::string()
                                : fmt::format(", the better of two complete answers in {:.0f} %",
                                              share_of([](Stream stream) {
                                                return stream.answer_suffices ||
                                                       stream.control_suffices;
                                              })),
      100 * study.saved_share(), study.main_tokens, study.fork_tokens,
      study.control_tokens == 0
          ? std::string()
          : fmt::format(", {} for the control answers", study.control_tokens));
  return text;
}

std::string study_picture(const PrefixStudy& study) {
  constexpr double kWidth = 640, kHeight = 360, kLeft = 56, kTop = 40, kRight = 620, kBottom = 310;
  Svg svg(
      {.width = kWidth,
       .height = kHeight,
       .title = "How early a prefix of the reasoning suffices",
       .description = fmt::format("Share of {} streams in which a kernel sufficed, by the share "
                                  "of the reasoning before it",
                                  study.streams.size())});
  auto x = [&](double share) { return kLeft + (kRight - kLeft) * share; };
  auto y = [&](double share) { return kBottom - (kBottom - kTop) * share; };
  for (int percent = 0; percent <= 100; percent += 20) {
    double share = percent / 100.0;
    svg.line(kLeft, y(share), kRight, y(share), "rule");
    svg.text(kLeft - 8, y(share) + 4, fmt::format("{} %", percent), "label", Anchor::end);
    svg.text(x(share), kBottom + 18, fmt::format("{} %", percent), "label", Anchor::middle);
  }
  std::vector<double> shares;
  for (const StudiedStream& stream : study.streams) {
    if (stream.shortest()) shares.push_back(*stream.shortest());
  }
  std::ranges::sort(shares);
  std::string path = fmt::format("M{} {}", svg_number(x(0)), svg_number(y(0)));
  for (double share : shares) {
    fmt::format_to(std::back_inserter(path), "H{}V{}", svg_number(x(share)),
                   svg_number(y(study.sufficed_by(share))));
  }
  fmt::format_to(std::back_inserter(path), "H{}", svg_number(x(1)));
  std::string area = fmt::format("{}V{}H{}Z", path, svg_number(y(0)), svg_number(x(0)));
  svg.path(area, "fork faint");
  svg.path(path, "mean");
  svg.line(kLeft, kBottom, kRight, kBottom, "axis");
  svg.text((kLeft + kRight) / 2, kBottom + 38, "shortest share of the reasoning that sufficed",
           "label", Anchor::middle);
  return std::move(svg).finish();
}

}  // namespace specgen
