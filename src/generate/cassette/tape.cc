#include "generate/cassette/tape.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "generate/cassette/request_key.h"

namespace specgen {
namespace {

bool is_complete(const RecordedAnswer& answer) {
  return !answer.broken;
}

std::size_t length_without_space(std::string_view text) {
  return cut_of(text, text).value_or(0);
}

// Keeps the entries that satisfy the predicate, if any does.
template <class Predicate>
void prefer(std::vector<std::size_t>& entries, Predicate predicate) {
  if (std::ranges::any_of(entries, predicate)) std::erase_if(entries, std::not_fn(predicate));
}

}  // namespace

Tape::Tape(Cassette cassette) : cassette_(std::move(cassette)) {
  for (const RecordedExchange& exchange : cassette_.exchanges) {
    Entry entry;
    entry.form = read_prompt(exchange.request);
    entry.answered = exchange.head && exchange.head->status / 100 == 2;
    if (entry.form) entry.answer = read_answer(exchange, entry.form->answer_traits());
    by_key_[request_key(exchange.request)].push_back(entries_.size());
    entries_.push_back(std::move(entry));
  }
  find_forks();
}

void Tape::find_forks() {
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    if (!entries_[i].form) continue;
    for (std::size_t j = 0; j < i; ++j) {
      const Entry& main = entries_[j];
      if (main.fork || main.answer.reasoning.empty()) continue;
      auto cut = find_cut(*entries_[i].form, *main.form, main.answer);
      if (cut && (!entries_[i].fork || *cut > entries_[i].fork->cut)) entries_[i].fork = {j, *cut};
    }
  }
}

Match Tape::play(Kind kind, const std::vector<std::size_t>& entries) {
  std::size_t turn = std::min(played_[{kind, entries.front()}]++, entries.size() - 1);
  std::size_t chosen = entries[turn];
  Match match{.exchange = &cassette_.exchanges[chosen], .answer = nullptr, .note = {}};
  if (const auto& form = entries_[chosen].form) {
    match.answer = &entries_[chosen].answer;
    match.choices = form->choices;
  }
  return match;
}

void Tape::Nearest::offer(std::size_t entry, std::size_t its_cut, std::size_t requested_cut) {
  if (its_cut > requested_cut) {
    if (!earliest || its_cut < *earliest) earliest = its_cut;
    requested = std::max(requested, requested_cut);
    return;
  }
  if (entries.empty() || its_cut > cut) {
    entries.clear();
    cut = its_cut;
    requested = requested_cut;
  }
  if (its_cut == cut) entries.push_back(entry);
}

Result<Match> Tape::play(const Nearest& nearest) {
  if (nearest.entries.empty()) {
    return fail(ErrorCode::not_recorded,
                fmt::format("{}: a fork at byte {} of the reasoning; the earliest recorded one of "
                            "this conversation is at byte {}",
                            cassette_.name, nearest.requested, nearest.earliest.value_or(0)));
  }
  Match match = play(Kind::nearest, nearest.entries);
  match.exact = nearest.cut == nearest.requested;
  if (!match.exact) {
    match.note = fmt::format(
        "answered from the nearest recorded fork, exchange {}, cut at byte {} "
        "of the reasoning instead of {}",
        match.exchange->number, nearest.cut, nearest.requested);
  }
  return match;
}

Result<Match> Tape::match(const RecordedRequest& request) {
  if (auto same = by_key_.find(request_key(request)); same != by_key_.end()) {
    return play(Kind::same, same->second);
  }
  auto form = read_prompt(request);
  if (!form) return not_recorded(request);
  Nearest nearest;
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    const Entry& fork = entries_[i];
    if (!fork.fork || !fork.answered || !fork.form->same_shape(*form)) continue;
    const Entry& main = entries_[fork.fork->main];
    auto cut = find_cut(*form, *main.form, main.answer);
    if (cut) nearest.offer(i, fork.fork->cut, *cut);
  }
  if (nearest.entries.empty() && !nearest.earliest) return not_recorded(request);
  Match match = TRY(play(nearest));
  if (match.exact) {  // the same cut, but another request
    match.exact = false;
    match.note = fmt::format("answered from exchange {}, a fork at the same cut that differs in {}",
                             match.exchange->number,
                             join(differing_members(request, match.exchange->request), ", "));
  }
  return match;
}

Result<Match> Tape::match(const Request& request) {
  std::vector<Turn> turns = turns_of(request.messages);
  return request.prefix ? match_fork(request, turns) : match_prompt(request, turns);
}

Result<Match> Tape::match_prompt(const Request& request, const std::vector<Turn>& turns) {
  std::vector<std::size_t> same;
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    const Entry& entry = entries_[i];
    if (entry.form && !entry.fork && same_prompt(*entry.form, turns)) same.push_back(i);
  }
  if (same.empty()) {
    return fail(ErrorCode::not_recorded,
                fmt::format("{}: none of its {} exchanges has this conversation of {} messages",
                            cassette_.name, entries_.size(), turns.size()));
  }
  // A refused request was retried: prefer the one that was answered.
  prefer(same, [&](std::size_t i) { return entries_[i].answered; });
  prefer(same, [&](std::size_t i) { return entries_[i].form->choices >= request.count; });
  bool reasons = request.mode == Mode::reason;
  prefer(same, [&](std::size_t i) { return entries_[i].answer.reasoning.empty() != reasons; });
  return play(Kind::same, same);
}

Result<Match> Tape::match_fork(const Request& request, const std::vector<Turn>& turns) {
  Nearest nearest;
  bool has_conversation = false;
  auto cut_of_main = [&](const Entry& main) -> std::optional<std::size_t> {
    if (main.fork || !main.form || !same_prompt(*main.form, turns)) return std::nullopt;
    return cut_of(request.prefix->text, main.answer.reasoning);
  };
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    const Entry& entry = entries_[i];
    if (!entry.form || !entry.answered) continue;
    if (entry.fork) {
      auto cut = cut_of_main(entries_[entry.fork->main]);
      if (cut) nearest.offer(i, entry.fork->cut, *cut);
    } else if (auto cut = cut_of_main(entry)) {
      has_conversation = true;
      // A fork from the complete reasoning gets the answer that was recorded with it.
      if (is_complete(entry.answer)) {
        nearest.offer(i, length_without_space(entry.answer.reasoning), *cut);
      }
    }
  }
  if (nearest.entries.empty() && !nearest.earliest) {
    return fail(
        ErrorCode::not_recorded,
        fmt::format("{}: {}", cassette_.name,
                    has_conversation ? "no fork of this conversation was recorded"
                                     : "no recorded reasoning begins like that of this fork"));
  }
  prefer(nearest.entries,
         [&](std::size_t i) { return entries_[i].form->choices >= request.count; });
  Match match = TRY(play(nearest));
  auto index = static_cast<std::size_t>(match.exchange - cassette_.exchanges.data());
  match.content_only = !entries_[index].fork;
  return match;
}

std::unexpected<Error> Tape::not_recorded(const RecordedRequest& request) const {
  std::string what = fmt::format("{}: {} {}", cassette_.name, request.method, request.target);
  std::vector<std::string> differing;
  std::uint64_t closest = 0;
  for (const RecordedExchange& exchange : cassette_.exchanges) {
    if (exchange.request.method != request.method || exchange.request.target != request.target) {
      continue;
    }
    std::vector<std::string> names = differing_members(request, exchange.request);
    if (closest != 0 && names.size() >= differing.size()) continue;
    closest = exchange.number;
    differing = std::move(names);
  }
  if (closest == 0) return fail(ErrorCode::not_recorded, what + " was never recorded");
  return fail(ErrorCode::not_recorded,
              fmt::format("{}: the closest recorded request, exchange {}, differs in {}", what,
                          closest, differing.empty() ? "its body" : join(differing, ", ")));
}

}  // namespace specgen
