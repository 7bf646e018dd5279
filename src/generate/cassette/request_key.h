#pragma once
// When two requests are the same, for a cassette: the same method and target, and JSON bodies that ask for
// the same, whatever the order of their members. Pure functions.

#include <string>
#include <vector>

#include "generate/cassette/recording.h"

namespace specgen {

// The exact request as a key: method, target, and the JSON body in one order of members, without those
// that differ from one sending to the next and change no answer.
std::string request_key(const RecordedRequest& request);
// For messages: the top-level members in which two JSON bodies differ.
std::vector<std::string> differing_members(const RecordedRequest& a, const RecordedRequest& b);

}  // namespace specgen
