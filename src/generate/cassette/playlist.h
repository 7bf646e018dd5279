#pragma once
// What a request hears of the recordings that answer it: their events, merged by time, without what the
// request did not ask for. Pure.

#include <optional>
#include <span>
#include <vector>

#include "generate/cassette/tape.h"
#include "generate/model.h"

namespace specgen {

struct Playlist {
  std::vector<TimedEvent> events;  // the last is Ended, unless
  std::optional<Error> broken;     // it breaks off after them
  Duration broken_after{};
};

// `matches` have as many answers together as the request wants, or more.
Playlist make_playlist(std::span<const Match> matches, const Request& request);

}  // namespace specgen
