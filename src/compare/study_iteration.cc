#include "compare/study_iteration.h"

#include <utility>

#include "generate/answer/extract.h"
#include "runtime/race.h"
#include "speculate/fork_runner.h"
#include "speculate/side_generations.h"

namespace specgen {
namespace {

constexpr std::size_t kMaxResults = 4096;  // more than the candidates of one iteration
constexpr int kWorkers = 4;                // forks at once

}  // namespace

StudyIteration::StudyIteration(IterationContext context, IterationSetup setup,
                               StudySettings settings)
    : context_(context),
      setup_(std::move(setup)),
      settings_(settings),
      follower_(setup_.backend, setup_.speculation.harvest, nullptr),
      results_(context.loop, kMaxResults),
      side_ended_(context.loop),
      side_tasks_(context.loop) {}

StudyIteration::~StudyIteration() = default;

void StudyIteration::add_result(const CandidateResult& result) {
  (void)results_.try_send(result);  // has a slot for every candidate
}

Task<IterationReport> StudyIteration::run() {
  auto started = co_await race(context_.model.start(setup_.main), context_.stop.wait());
  if (started.second()) {
    report_.end = IterationEnd::interrupted;
  } else if (auto& stream = *started.first(); !stream) {
    report_.end = IterationEnd::failed;
    report_.note = stream.error().summary();
  } else {
    stream_ = std::move(*stream);
    if (settings_.control) {
      ++side_tasks_running_;
      side_tasks_.spawn(run_control());
    }
    bool is_complete = co_await follow_stream();
    if (is_complete) is_complete = co_await await_results();
    if (!is_complete) {
      report_.end = IterationEnd::interrupted;
      report_.note.clear();
    }
    stream_.reset();
  }
  side_tasks_.cancel();
  if (!report_.tokens) {
    report_.tokens = follower_.reasoning().tokens() + estimate_tokens(follower_.answer());
  }
  report_.reasoning = follower_.reasoning().text();
  co_return std::move(report_);
}

Task<bool> StudyIteration::follow_stream() {
  while (stream_) {
    auto event = co_await race(context_.stop.wait(), results_.receive(), stream_->next());
    if (event.first()) co_return false;
    if (event.second()) {
      --unevaluated_;
      continue;
    }
    Result<StreamEvent>& streamed = *event.get<2>();
    if (!streamed) {
      report_.end = IterationEnd::failed;
      report_.note = streamed.error().summary();
      stream_.reset();
    } else if (auto* prompt = std::get_if<PromptTokens>(&*streamed)) {
      follower_.add(*prompt);
    } else if (auto* delta = std::get_if<Delta>(&*streamed)) {
      if (auto stop = context_.stopping.after_bytes(follower_.bytes() + delta->text.size())) {
        report_.end = stop->end;
        report_.note = std::move(stop->note);
        stream_.reset();
      } else {
        submit_drafts(follower_.follow(*delta).drafts);
      }
    } else {
      stream_ended(std::get<Ended>(*streamed));
      stream_.reset();
    }
  }
  co_return true;
}

// Until everything is evaluated: all of it is data.
Task<bool> StudyIteration::await_results() {
  while (side_tasks_running_ > 0 || unevaluated_ > 0) {
    side_ended_.reset();
    auto event = co_await race(context_.stop.wait(), results_.receive(), side_ended_.wait());
    if (event.first()) co_return false;
    if (event.second()) --unevaluated_;
  }
  co_return true;
}

void StudyIteration::submit_drafts(std::vector<HarvestedKernel>& drafts) {
  for (HarvestedKernel& draft : drafts) {
    submit({.source = std::move(draft.source),
            .origin = Origin::harvest,
            .prefix_tokens = follower_.reasoning().tokens(),
            .prefix_bytes = draft.end,
            .is_python = draft.is_python,
            .shadow = true});
  }
}

void StudyIteration::stream_ended(const Ended& ended) {
  report_.tokens = ended.usage.completion_tokens;
  for (int worker = 0; worker < kWorkers; ++worker) {
    ++side_tasks_running_;
    side_tasks_.spawn(fork_at_shares(worker));
  }
  submit_drafts(follower_.finish().drafts);
  auto kernel =
      extract_kernel({.text = follower_.answer(),
                      .finish = ended.reasons.empty() ? FinishReason::other : ended.reasons.front(),
                      .backend = setup_.backend,
                      .parent = setup_.parent_for_diffs(),
                      .answer_start = {}});
  if (!kernel) {
    report_.end = IterationEnd::no_kernel;
    report_.note = kernel.error().explanation;
    return;
  }
  report_.end = IterationEnd::answered;
  submit({.source = std::move(kernel->source),
          .origin = Origin::main,
          .prefix_tokens = follower_.reasoning().tokens(),
          .prefix_bytes = follower_.reasoning().text().size(),
          .is_python = kernel->is_python});
}

Task<void> StudyIteration::fork_at_shares(int worker) {
  const auto bytes = static_cast<double>(follower_.reasoning().text().size());
  for (int i = 1 + worker; settings_.step * i < 1; i += kWorkers) {
    auto offset = static_cast<std::size_t>(settings_.step * i * bytes);
    ReasoningPrefix prefix = follower_.reasoning().prefix(offset);
    const std::size_t cut = prefix.text.size();
    if (cut == 0) continue;  // no safe place to cut so early
    if (!context_.sink.may_spend(kUsualAnswerTokens + follower_.tokens_before(cut))) break;
    auto answer = co_await ask(context_.model, fork_request(setup_, std::move(prefix)));
    if (!answer) continue;
    auto kernel = kernel_of_fork(setup_, *answer, "share", cut, follower_);
    if (!kernel) continue;
    kernel->shadow = true;
    submit(std::move(*kernel));
  }
  side_task_ended();
}

// The other way to spend the time: a second complete generation for the same prompt.
Task<void> StudyIteration::run_control() {
  Request request = setup_.main;
  request.purpose = "control";
  request.sampling.seed = request.sampling.seed.value_or(0) + 1;
  auto answer = co_await ask(context_.model, std::move(request));
  side_task_ended();
  if (!answer) co_return;
  auto kernel = extract_kernel({.text = answer->content,
                                .finish = answer->reason,
                                .backend = setup_.backend,
                                .parent = setup_.parent_for_diffs(),
                                .answer_start = {}});
  if (!kernel) co_return;
  submit({.source = std::move(kernel->source),
          .origin = Origin::main,
          .trigger = "control",
          .is_python = kernel->is_python,
          .shadow = true});
}

void StudyIteration::submit(FoundKernel kernel) {
  ++unevaluated_;
  (void)context_.sink.submit(setup_.id, std::move(kernel));
}

void StudyIteration::side_task_ended() {
  --side_tasks_running_;
  side_ended_.set();
}

IterationFactory study_iterations(StudySettings settings) {
  return [settings](IterationContext context, IterationSetup setup) {
    return std::make_unique<StudyIteration>(context, std::move(setup), settings);
  };
}

}  // namespace specgen
