#include "evaluate/pytorch/model_new.h"

#include <fmt/core.h>

#include <algorithm>
#include <boost/json.hpp>
#include <cmath>
#include <cstring>

#include "evaluate/host/tool_run.h"
#include "evaluate/pytorch/extension_cache.h"
#include "evaluate/pytorch/shared_tensors.h"

namespace specgen {
namespace {

constexpr int kMaxRoundsFactor = 5;
constexpr double kClockShare = 1.2;
constexpr double kClockSlackNs = 1e6;
constexpr double kMaxRoundTripNs = 2e7;
constexpr std::size_t kMaxSource = std::size_t{1} << 20;
constexpr int kMaxQuestions = 8;  // of a candidate's process while it loads

std::vector<std::size_t> sizes_of(const std::vector<Tensor>& tensors) {
  std::vector<std::size_t> sizes;
  for (const Tensor& tensor : tensors) sizes.push_back(tensor.bytes());
  return sizes;
}

boost::json::array layout_json(const std::vector<Tensor>& tensors, const SharedTensors& shared) {
  boost::json::array list;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    boost::json::array shape(tensors[i].shape.begin(), tensors[i].shape.end());
    boost::json::object one{{"dtype", to_string(tensors[i].dtype)}, {"offset", shared.offset(i)}};
    one["shape"] = std::move(shape);
    list.push_back(std::move(one));
  }
  return list;
}

// Untrusted text for people: limited and cleaned line by line.
std::string readable(std::string_view text) {
  std::string lines;
  int count = 0;
  while (!text.empty() && count++ < 12) {
    std::size_t end = text.find('\n');
    lines += (lines.empty() ? "" : "\n") + printable(text.substr(0, end));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
  return lines;
}

// The evaluation of one candidate.
class Trial {
 public:
  Trial(PythonTask& task, ModelNewRequest& request, SharedTensors given, SharedTensors outputs)
      : task_(task),
        request_(request),
        cache_(task.host(), request.source),
        given_(std::move(given)),
        outputs_(std::move(outputs)) {}

  Task<Result<ModelNewOutcome>> run() {
    Time start = loop().now();
    Finding found = CO_TRY(co_await open());
    outcome_.load_took = loop().now() - start;
    if (found.ok()) found = CO_TRY(co_await lay_out());
    for (int i = 0; i < request_.trials && found.ok(); ++i) {
      found = CO_TRY(co_await validate(seed("model_new trial", i)));
    }
    // A busy machine must not convict: while the clocks disagree, more calls are made.
    auto is_enough = [&](int rounds) {
      return rounds >= request_.rounds &&
             (rounds >= kMaxRoundsFactor * request_.rounds || !clock_disagrees(stamps_));
    };
    for (int i = 0; found.ok() && !is_enough(i); ++i) {
      found = CO_TRY(co_await time_once(seed("model_new round", i), i % 2 == 0));
    }
    if (found.ok() && clock_disagrees(stamps_)) {
      found =
          finding(Verdict::deferred_work,
                  "calls took longer than the candidate's process reports: work continued after "
                  "them, or its clock was changed");
    }
    if (found.ok() && request_.rounds > 0) {
      outcome_.speedup = speedup_of(outcome_.baseline_ns, outcome_.candidate_ns);
    }
    outcome_.finding = std::move(found);
    co_return std::move(outcome_);
  }

 private:
  struct Answer {  // a finding that is not ok, or an answer
    Finding finding;
    Json json;
    std::vector<Fd> descriptors;
  };

  Loop& loop() const { return task_.host().loop; }
  std::uint64_t seed(std::string_view purpose, int number) const {
    return request_.secret.derive(purpose, static_cast<std::uint64_t>(number));
  }

  Task<Result<Answer>> ask(std::string question, std::vector<int> descriptors, Duration limit) {
    Answer result;
    auto answer =
        CO_TRY(co_await process_->ask(std::move(question), std::move(descriptors), limit));
    if (answer.ended != Verdict::ok) {
      result.finding = finding(answer.ended, readable(answer.how));
      co_return result;
    }
    auto json = parse_json(answer.message.body);
    if (!json) {
      result.finding = finding(Verdict::crash, "the candidate's process sent an unreadable answer");
      co_return result;
    }
    result.json = std::move(*json);
    result.descriptors = std::move(answer.message.descriptors);
    std::string kind = text_at(result.json, "error");
    if (kind.empty()) co_return result;
    std::string text = text_at(result.json, "text");
    // The problem file has run in the reference process, so a failure here is the candidate's.
    if (kind == "tool_missing") co_return fail(ErrorCode::tool_missing, text);
    auto verdict = parse_verdict(kind);
    result.finding =
        finding(verdict && *verdict != Verdict::ok ? *verdict : Verdict::crash, readable(text));
    result.finding.evidence.line = static_cast<int>(int_at(result.json, "line"));
    co_return result;
  }

  Task<Result<Finding>> open() {
    if (request_.source.size() > kMaxSource || request_.source.contains('\0')) {
      co_return finding(Verdict::rejected, "the source is too long or is not text");
    }
    const PythonTaskRequest& problem = task_.request();
    std::vector<std::filesystem::path> folders = cache_.folders();
    folders.push_back(problem.file.parent_path());
    process_ =
        CO_TRY(PythonProcess::start(task_.host(), PythonProgram::model_new, std::move(folders)));
    boost::json::object overrides;
    for (const auto& [name, value] : problem.overrides) overrides[name] = value;
    std::string question = compact_json({{"do", "open"},
                                         {"source", request_.source},
                                         {"file", problem.file.string()},
                                         {"overrides", overrides},
                                         {"seed", problem.seed},
                                         {"device", task_.host().device},
                                         {"threads", task_.host().threads},
                                         {"headers", cache_.headers().string()},
                                         {"kept", cache_.kept().string()}});
    Answer answer = CO_TRY(co_await ask(std::move(question), {}, request_.load_limit));
    for (int asked = 0; answer.finding.ok() && !text_at(answer.json, "want").empty(); ++asked) {
      if (asked == kMaxQuestions) co_return finding(Verdict::rejected, "too many extensions");
      auto made = co_await cache_.make_header(compact_json(answer.json));
      if (!made) outcome_.remarks.push_back(printable(made.error().summary()));
      answer = CO_TRY(co_await ask("{}", {}, request_.load_limit));
    }
    if (answer.finding.ok()) keep(answer);
    co_return answer.finding;
  }

  void keep(const Answer& answer) {
    const Json* notes = member_at(answer.json, "notes");
    if (notes != nullptr && notes->is_array()) {
      for (const Json& note : notes->get_array()) {
        if (note.is_string() && outcome_.remarks.size() < 16) {
          outcome_.remarks.push_back(printable(std::string_view(note.get_string())));
        }
      }
    }
    const Json* built = member_at(answer.json, "built");
    if (built == nullptr || !built->is_array()) return;
    std::size_t count = std::min(built->get_array().size(), answer.descriptors.size());
    for (std::size_t i = 0; i < count; ++i) {
      const Json& key = built->get_array()[i];
      if (!key.is_string()) continue;
      // If it cannot be cached, it is built again next time.
      auto kept = cache_.keep(std::string(key.get_string()), answer.descriptors[i]);
      if (!kept) outcome_.remarks.push_back(printable(kept.error().summary()));
    }
  }

  Task<Result<Finding>> lay_out() {
    const Description& description = task_.description();
    auto drawn = CO_TRY(co_await task_.draw(task_.only_case(), task_.request().seed));
    fill(drawn);
    boost::json::array arguments;
    for (const ForwardArgument& argument : description.arguments) {
      boost::json::object one;
      if (argument.is_tensor) {
        one["tensor"] = true;
      } else {
        one["value"] = CO_TRY(parse_json(argument.value_json));
      }
      arguments.push_back(std::move(one));
    }
    const auto& names = description.parameter_names;
    boost::json::object question{{"do", "layout"}, {"inputs", description.inputs.size()}};
    question["arguments"] = std::move(arguments);
    question["parameters"] = boost::json::array(names.begin(), names.end());
    question["given"] = layout_json(task_.only_case().inputs, given_);
    question["outputs"] = layout_json(task_.only_case().outputs, outputs_);
    std::vector<int> memory{given_.descriptor(), outputs_.descriptor()};
    Answer answer =
        CO_TRY(co_await ask(compact_json(question), std::move(memory), request_.call_limit));
    outcome_.parameters_by = printable(text_at(answer.json, "matched"));
    co_return answer.finding;
  }

  void fill(const std::vector<std::vector<std::byte>>& drawn) {
    for (std::size_t i = 0; i < drawn.size(); ++i) {
      std::memcpy(given_.tensor(i).data(), drawn[i].data(), drawn[i].size());
    }
  }

  // On a CPU the candidate works on the shared memory itself; a GPU has copies.
  Task<Result<Finding>> on_gpu(std::string_view what) {
    if (!task_.host().on_gpu()) co_return Finding{};
    Answer answer = CO_TRY(co_await ask(compact_json({{"do", what}}), {}, request_.call_limit));
    co_return answer.finding;
  }

  // One call on fresh inputs, in the same memory as before.
  Task<Result<Finding>> call(const std::vector<std::vector<std::byte>>& drawn, double* timed_ns) {
    const Case& at = task_.only_case();
    std::size_t inputs = task_.description().inputs.size();
    // Parameters were copied in lay_out() and stay.
    for (std::size_t i = 0; i < inputs; ++i) {
      std::memcpy(given_.tensor(i).data(), drawn[i].data(), drawn[i].size());
    }
    poison_ = {.secret = loop().random().next()};
    for (std::size_t i = 0; i < at.outputs.size(); ++i) {
      poison(at.outputs[i].dtype, outputs_.tensor(i), poison_);
    }
    Finding loaded = CO_TRY(co_await on_gpu("load"));
    if (!loaded.ok()) co_return loaded;
    double round_trip = timed_ns == nullptr ? 0 : CO_TRY(co_await task_.round_trip_ns());
    Time start = loop().now();
    Answer answer = CO_TRY(co_await ask(R"({"do":"go"})", {}, request_.call_limit));
    double seen = static_cast<double>((loop().now() - start).count());
    if (!answer.finding.ok()) co_return answer.finding;
    double call_ns = number_at(answer.json, "ns", -1);
    double whole_ns = number_at(answer.json, "whole_ns", -1);
    if (!(call_ns > 0) || !(whole_ns >= call_ns)) {
      co_return finding(Verdict::deferred_work, "the clock of the candidate's process was changed");
    }
    if (timed_ns != nullptr) {
      *timed_ns = call_ns;
      stamps_.push_back({.candidate_ns = whole_ns, .judge_ns = seen, .round_trip_ns = round_trip});
    }
    Finding given_back = CO_TRY(co_await on_gpu("give_back"));
    if (!given_back.ok()) co_return given_back;
    for (std::size_t i = 0; i < inputs; ++i) {
      if (std::memcmp(given_.tensor(i).data(), drawn[i].data(), drawn[i].size()) != 0) {
        co_return finding(Verdict::input_modified, "'" + at.inputs[i].name + "' was changed");
      }
    }
    co_return Finding{};
  }

  Task<Result<Finding>> validate(std::uint64_t seed) {
    const Case& at = task_.only_case();
    auto drawn = CO_TRY(co_await task_.draw(at, seed));
    auto expected = CO_TRY(co_await task_.expect_outputs(seed));
    outcome_.exact = expected.exact;
    if (expected.exact) eager_rms_.resize(at.outputs.size());
    Finding found = CO_TRY(co_await call(drawn, nullptr));
    for (std::size_t i = 0; i < at.outputs.size() && found.ok(); ++i) {
      Tolerance tolerance = task_.tolerance(at.outputs[i]);
      auto eager =
          compare(at.outputs[i], expected.eager[i], expected.expected[i], tolerance, poison_);
      auto report =
          compare(at.outputs[i], outputs_.tensor(i), expected.expected[i], tolerance, poison_);
      // Without an fp64 reference the error of the eager module is not known.
      double baseline_rms = expected.exact ? eager.rms_error() : -1;
      if (expected.exact) eager_rms_[i] = std::max(eager_rms_[i], baseline_rms);
      found = judge_output(at, at.outputs[i], report, tolerance, baseline_rms);
    }
    co_return found;
  }

  Task<Result<Finding>> time_once(std::uint64_t seed, bool baseline_first) {
    const Case& at = task_.only_case();
    auto drawn = CO_TRY(co_await task_.draw(at, seed));
    EagerRun eager;
    if (baseline_first) eager = CO_TRY(co_await task_.time_eager(seed, true));
    double candidate_ns = 0;
    Finding found = CO_TRY(co_await call(drawn, &candidate_ns));
    if (!found.ok()) co_return found;
    if (!baseline_first) eager = CO_TRY(co_await task_.time_eager(seed, true));
    outcome_.baseline_ns.push_back(eager.ns);
    outcome_.candidate_ns.push_back(candidate_ns);
    for (std::size_t i = 0; i < at.outputs.size() && found.ok(); ++i) {
      Expected made;
      made.value.resize(static_cast<std::size_t>(at.outputs[i].elements));
      to_doubles(at.outputs[i].dtype, eager.outputs[i], made.value);
      made.scale = scales_of(made.value, rms_of(made.value));
      Tolerance tolerance = task_.tolerance(at.outputs[i]);
      tolerance.scale_factor *= 2;  // both may be off
      tolerance.value_factor *= 2;
      auto report = compare(at.outputs[i], outputs_.tensor(i), made, tolerance, poison_);
      double rms = eager_rms_.empty() ? -1 : 2 * eager_rms_[i];
      found = judge_output(at, at.outputs[i], report, tolerance, rms);
    }
    co_return found;
  }

  PythonTask& task_;
  ModelNewRequest& request_;
  ExtensionCache cache_;
  SharedTensors given_;  // inputs, then parameters
  SharedTensors outputs_;
  Poison poison_;
  std::unique_ptr<PythonProcess> process_;
  std::vector<Stamps> stamps_;
  std::vector<double> eager_rms_;  // against fp64, per output; empty if there was no fp64
  ModelNewOutcome outcome_;
};

}  // namespace

Speedup speedup_of(const std::vector<double>& baseline_ns,
                   const std::vector<double>& candidate_ns) {
  std::vector<double> ratios;
  for (std::size_t i = 0; i < std::min(baseline_ns.size(), candidate_ns.size()); ++i) {
    if (candidate_ns[i] > 0) ratios.push_back(baseline_ns[i] / candidate_ns[i]);
  }
  if (ratios.empty()) return {};
  std::ranges::sort(ratios);
  double n = static_cast<double>(ratios.size());
  double half_width = 1.96 * std::sqrt(n) / 2;
  auto rank = [&](double place) {
    double last = n - 1;
    return ratios[static_cast<std::size_t>(std::clamp(place, 0.0, last))];
  };
  double middle = (n - 1) / 2;
  return {.median = (rank(std::floor(middle)) + rank(std::ceil(middle))) / 2,
          .low = rank(std::floor(middle - half_width)),
          .high = rank(std::ceil(middle + half_width))};
}

bool clock_disagrees(const std::vector<Stamps>& stamps) {
  if (stamps.empty()) return false;
  // Measured with the reference process, which a candidate cannot influence. It is long on a busy
  // host; the upper quartile is the allowance for every call.
  std::vector<double> round_trips;
  for (const Stamps& one : stamps) round_trips.push_back(one.round_trip_ns);
  std::ranges::sort(round_trips);
  double allowance = std::min(round_trips[round_trips.size() * 3 / 4], kMaxRoundTripNs);
  auto late = std::ranges::count_if(stamps, [&](const Stamps& one) {
    return one.judge_ns > kClockShare * one.candidate_ns + kClockSlackNs + allowance;
  });
  return static_cast<std::size_t>(late) * 2 > stamps.size();
}

Task<Result<ModelNewOutcome>> judge_model_new(PythonTask& task, ModelNewRequest request) {
  auto given = CO_TRY(SharedTensors::make(sizes_of(task.only_case().inputs)));
  auto outputs = CO_TRY(SharedTensors::make(sizes_of(task.only_case().outputs)));
  Trial trial(task, request, std::move(given), std::move(outputs));
  co_return co_await trial.run();
}

}  // namespace specgen
