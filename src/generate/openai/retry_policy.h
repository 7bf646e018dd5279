#pragma once
// How often and how soon a request is tried again. Only before its first token was delivered: after
// that a second answer would be another one.

#include "base/random.h"
#include "base/units.h"

namespace specgen {

struct RetryPolicy {
  int attempts = 4;  // in all
  Duration first_wait = std::chrono::milliseconds(500);
  Duration max_wait = std::chrono::seconds(20);

  // After `failed` attempts: doubles each time, and half of it is chance, so that many callers that
  // failed together do not come back together.
  Duration wait_after(int failed, Random& random) const {
    Duration wait = first_wait;
    for (int i = 1; i < failed && wait < max_wait; ++i) wait *= 2;
    if (wait > max_wait) wait = max_wait;
    return from_seconds(seconds(wait) * random.uniform(0.5, 1.0));
  }
};

}  // namespace specgen
