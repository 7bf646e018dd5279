#include "generate/cassette/cassette_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "base/assert.h"
#include "generate/cassette/cassette_format.h"
#include "generate/cassette/tape.h"

namespace specgen {
namespace {

constexpr int kMaxAnswers = 64;

// What one request receives from the recordings that answer it: their events merged by time.
struct Playlist {
  std::vector<TimedEvent> events;  // the last is Ended, unless the answer
  std::optional<Error> broken;     // breaks off after them
  Duration broken_after{};
};

bool is_reasoning(const TimedEvent& timed) {
  const auto* delta = std::get_if<Delta>(&timed.event);
  return delta && delta->kind == DeltaKind::reasoning;
}

// Keeps only the answer, and lets it begin when the reasoning ended.
void leave_out_reasoning(std::vector<TimedEvent>& events) {
  Duration ended{};
  for (const TimedEvent& timed : events) {
    if (is_reasoning(timed)) ended = timed.after;
  }
  std::erase_if(events, is_reasoning);
  for (TimedEvent& timed : events) timed.after = std::max(timed.after - ended, Duration::zero());
}

// Removes the prescribed start of the answer where the model has repeated it: it is not part of the answer.
void leave_out_start(std::vector<TimedEvent>& events, std::string_view start, int choice) {
  std::vector<std::string*> texts;
  std::string content;
  for (TimedEvent& timed : events) {
    auto* delta = std::get_if<Delta>(&timed.event);
    if (!delta || delta->choice != choice || delta->kind != DeltaKind::content) continue;
    content += delta->text;
    texts.push_back(&delta->text);
  }
  if (!content.starts_with(start)) return;
  std::size_t left = start.size();
  for (std::string* text : texts) {
    std::size_t taken = std::min(left, text->size());
    text->erase(0, taken);
    left -= taken;
  }
}

void add(const Usage& one, Usage& all) {
  all.prompt_tokens += one.prompt_tokens;
  all.cached_tokens += one.cached_tokens;
  all.completion_tokens += one.completion_tokens;
  all.reasoning_tokens += one.reasoning_tokens;
  all.estimated = all.estimated || one.estimated;
  all.cached_known = all.cached_known && one.cached_known;
}

class Merger {
 public:
  explicit Merger(const Request& request) : request_(request) { ended_.usage.cached_known = true; }

  void add_match(const Match& match) {
    std::vector<TimedEvent> events = match.answer->events;
    if (match.content_only) leave_out_reasoning(events);
    for (int i = 0; i < match.choices && !request_.answer_start.empty(); ++i) {
      leave_out_start(events, request_.answer_start, i);
    }
    for (TimedEvent& timed : events) take(timed);
    if (match.answer->broken &&
        (!list_.broken || match.answer->broken_after < list_.broken_after)) {
      list_.broken = match.answer->broken;
      list_.broken_after = match.answer->broken_after;
    }
    if (ended_.note.empty()) ended_.note = match.note;
    choices_ += match.choices;
  }

  Playlist finish() {
    ended_.reasons.resize(static_cast<std::size_t>(request_.count), FinishReason::other);
    for (auto& [after, event] : by_time_) {
      // If one answer breaks off, all end there.
      if (list_.broken && after > list_.broken_after) break;
      list_.events.push_back({after, std::move(event)});
    }
    if (!list_.broken) list_.events.push_back({ended_after_, std::move(ended_)});
    return std::move(list_);
  }

 private:
  void take(TimedEvent& timed) {
    if (auto* ended = std::get_if<Ended>(&timed.event)) {
      ended_after_ = std::max(ended_after_, timed.after);
      ended_.reasons.insert(ended_.reasons.end(), ended->reasons.begin(), ended->reasons.end());
      add(ended->usage, ended_.usage);
      return;
    }
    if (auto* delta = std::get_if<Delta>(&timed.event)) {
      delta->choice += choices_;
      if (delta->choice >= request_.count || delta->text.empty()) return;
    } else if (choices_ > 0) {
      return;  // the prompt is the same for all
    }
    by_time_.emplace(timed.after, std::move(timed.event));
  }

  const Request& request_;
  Playlist list_;
  std::multimap<Duration, StreamEvent> by_time_;  // stable for equal times
  Ended ended_;
  Duration ended_after_{};
  int choices_ = 0;  // of the matches so far
};

// `matches` have together at least as many answers as the request asks for.
Playlist make_playlist(std::span<const Match> matches, const Request& request) {
  Merger merger(request);
  for (const Match& match : matches) merger.add_match(match);
  return merger.finish();
}

class CassetteGeneration final : public Generation {
 public:
  CassetteGeneration(Loop& loop, CallLedger& ledger, std::uint64_t call, Playlist list,
                     const Request& request, Pace pace)
      : loop_(loop),
        ledger_(ledger),
        call_(call),
        list_(std::move(list)),
        pace_(pace),
        idle_timeout_(request.idle_timeout),
        total_timeout_(request.total_timeout),
        began_(loop.now()),
        last_event_(began_) {
    for (const Message& message : request.messages) prompt_tokens_ += estimate_tokens(message.text);
    if (request.prefix) prompt_tokens_ += estimate_tokens(request.prefix->text);
  }
  ~CassetteGeneration() override {
    if (!over_) close(CallOutcome::cancelled, arrived(), {});
  }

  Task<Result<StreamEvent>> next() override {
    SG_ASSERT(!over_, "next() is called after the generation has ended");
    bool more = at_ < list_.events.size();
    Time due = began_ + pace_.of(more ? list_.events[at_].after : list_.broken_after);
    Time limit = std::min(last_event_ + idle_timeout_, began_ + total_timeout_);
    if (due > limit) {
      co_await loop_.sleep_until(limit);
      co_return failed({ErrorCode::model_silent,
                        "the recorded answer pauses for longer than the idle timeout",
                        {}});
    }
    // Suspends even if the event is due, so that other tasks run.
    co_await loop_.sleep_until(std::max(due, loop_.now()));
    if (!more) co_return failed(std::move(*list_.broken));
    last_event_ = due;
    StreamEvent event = std::move(list_.events[at_++].event);
    if (const auto* delta = std::get_if<Delta>(&event)) text_ += delta->text;
    if (const auto* ended = std::get_if<Ended>(&event)) close(CallOutcome::ended, ended->usage, {});
    co_return event;
  }

 private:
  std::unexpected<Error> failed(Error error) {
    close(CallOutcome::failed, arrived(), error.summary());
    return std::unexpected(std::move(error));
  }

  void close(CallOutcome outcome, const Usage& usage, std::string error) {
    over_ = true;
    std::string evidence = outcome == CallOutcome::ended ? std::string() : std::move(text_);
    ledger_.ended(call_, outcome, usage, loop_.now(), std::move(error), std::move(evidence));
  }

  Usage arrived() const {
    Usage usage;
    usage.prompt_tokens = prompt_tokens_;
    usage.completion_tokens = estimate_tokens(text_);
    usage.estimated = true;
    return usage;
  }

  Loop& loop_;
  CallLedger& ledger_;
  std::uint64_t call_;
  Playlist list_;
  Pace pace_;
  Duration idle_timeout_;
  Duration total_timeout_;
  Time began_;
  Time last_event_;
  std::size_t at_ = 0;
  std::int64_t prompt_tokens_ = 0;
  std::string text_;  // all delivered text
  bool over_ = false;
};

// Prompts for language models have no sources in their context block. A cassette recorded from a language model
// must get the same prompts.
bool was_recorded_in_prose(const Cassette& cassette) {
  return std::ranges::any_of(cassette.exchanges, [](const RecordedExchange& exchange) {
    const std::string& body = exchange.request.body;  // JSON inside a JSON string
    return body.contains("specgen-context") && !body.contains(R"(\"baseline\":)");
  });
}

class CassetteModel final : public Model {
 public:
  CassetteModel(Loop& loop, CallLedger& ledger, Cassette cassette, Pace pace)
      : loop_(loop), ledger_(ledger), tape_(std::move(cassette)), pace_(pace) {
    info_.name = "cassette:" + tape_.cassette().name;
    info_.is_language_model = was_recorded_in_prose(tape_.cassette());
  }

  const ModelInfo& info() const override { return info_; }

  Task<Result<std::unique_ptr<Generation>>> start(Request request) override {
    request.count = std::clamp(request.count, 1, kMaxAnswers);
    // A server with one answer per request was sent several requests.
    std::vector<Match> matches;
    for (int answers = 0; answers < request.count; answers += matches.back().choices) {
      matches.push_back(CO_TRY(tape_.match(request)));
    }
    CallRecord row = call_record(info_, request, loop_.now());
    row.note = matches.front().note;
    std::uint64_t call = ledger_.sent(std::move(row));
    co_return std::make_unique<CassetteGeneration>(loop_, ledger_, call,
                                                   make_playlist(matches, request), request, pace_);
  }

 private:
  Loop& loop_;
  CallLedger& ledger_;
  Tape tape_;
  Pace pace_;
  ModelInfo info_;
};

}  // namespace

std::unique_ptr<Model> cassette_model(Loop& loop, CallLedger& ledger, Cassette cassette,
                                      Pace pace) {
  return std::make_unique<CassetteModel>(loop, ledger, std::move(cassette), pace);
}

Result<std::unique_ptr<Model>> open_cassette(Loop& loop, CallLedger& ledger,
                                             const std::filesystem::path& file, Pace pace) {
  return cassette_model(loop, ledger, TRY(read_cassette(file)), pace);
}

}  // namespace specgen
