#include "generate/cassette/playlist.h"

#include <algorithm>
#include <map>

namespace specgen {
namespace {

bool is_reasoning(const TimedEvent& timed) {
  const auto* delta = std::get_if<Delta>(&timed.event);
  return delta && delta->kind == DeltaKind::reasoning;
}

// Of a recorded conversation the answer alone: it begins when the reasoning was over.
void leave_out_reasoning(std::vector<TimedEvent>& events) {
  Duration over{};
  for (const TimedEvent& timed : events) {
    if (is_reasoning(timed)) over = timed.after;
  }
  std::erase_if(events, is_reasoning);
  for (TimedEvent& timed : events) timed.after = std::max(timed.after - over, Duration::zero());
}

// A model may well begin as it was told to; how the answer begins is no part of what it writes.
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

  void add_lane(const Match& match) {
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
      // One answer that breaks off takes the others with it.
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
  std::multimap<Duration, StreamEvent> by_time_;  // equal times stay in order
  Ended ended_;
  Duration ended_after_{};
  int choices_ = 0;  // of the lanes so far
};

}  // namespace

Playlist make_playlist(std::span<const Match> matches, const Request& request) {
  Merger merger(request);
  for (const Match& match : matches) merger.add_lane(match);
  return merger.finish();
}

}  // namespace specgen
