#pragma once
// Equality of requests for a cassette: the same method and target, and JSON bodies that mean
// the same, in any order of members. Pure functions.

#include <string>
#include <vector>

#include "generate/cassette/recording.h"

namespace specgen {

// The request as a key: method, target, and the JSON body with sorted members, without those
// that vary between attempts and do not affect the answer.
std::string request_key(const RecordedRequest& request);
// For messages: the top-level members in which two JSON bodies differ.
std::vector<std::string> differing_members(const RecordedRequest& a, const RecordedRequest& b);

}  // namespace specgen
