#include "generate/cassette/cassette_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/assert.h"
#include "generate/cassette/cassette_format.h"
#include "generate/cassette/playlist.h"
#include "generate/cassette/tape.h"

namespace specgen {
namespace {

constexpr int kMaxAnswers = 64;

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
        heard_(began_) {
    for (const Message& message : request.messages) prompt_tokens_ += estimate_tokens(message.text);
    if (request.prefix) prompt_tokens_ += estimate_tokens(request.prefix->text);
  }
  ~CassetteGeneration() override {
    if (!over_) close(CallOutcome::cancelled, arrived(), {});
  }

  Task<Result<StreamEvent>> next() override {
    SG_ASSERT(!over_, "a generation that is over is asked again");
    bool more = at_ < list_.events.size();
    Time due = began_ + pace_.of(more ? list_.events[at_].after : list_.broken_after);
    Time limit = std::min(heard_ + idle_timeout_, began_ + total_timeout_);
    if (due > limit) {
      co_await loop_.sleep_until(limit);
      co_return failed({ErrorCode::model_silent, "the recorded answer pauses for longer", {}});
    }
    // Also what is due at once takes its turn, so that others have theirs.
    co_await loop_.sleep_until(std::max(due, loop_.now()));
    if (!more) co_return failed(std::move(*list_.broken));
    heard_ = due;
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
  Time heard_;  // the last event
  std::size_t at_ = 0;
  std::int64_t prompt_tokens_ = 0;
  std::string text_;  // all that has been delivered
  bool over_ = false;
};

// Prompts for language models have no sources in their block of context. Whoever plays their conversation must be
// asked in the same words.
bool was_told_in_prose(const Cassette& cassette) {
  return std::ranges::any_of(cassette.exchanges, [](const RecordedExchange& exchange) {
    const std::string& body = exchange.request.body;  // JSON in a text of JSON
    return body.contains("specgen-context") && !body.contains(R"(\"baseline\":)");
  });
}

class CassetteModel final : public Model {
 public:
  CassetteModel(Loop& loop, CallLedger& ledger, Cassette cassette, Pace pace)
      : loop_(loop), ledger_(ledger), tape_(std::move(cassette)), pace_(pace) {
    info_.name = "cassette:" + tape_.cassette().name;
    info_.is_language_model = was_told_in_prose(tape_.cassette());
  }

  const ModelInfo& info() const override { return info_; }

  Task<Result<std::unique_ptr<Generation>>> start(Request request) override {
    request.count = std::clamp(request.count, 1, kMaxAnswers);
    // Where a server gives one answer to a request, several were asked for side by side.
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
