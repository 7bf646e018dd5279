#pragma once
// The server of `specgen replay`: answers from a cassette, byte for byte, at the original or another speed.
// The header x-specgen-replay says whether an answer is that of the same request (exact) or of
// the nearest recorded fork (nearest). A request that was not recorded gets a 404. A recording that broke
// off breaks off again.

#include "base/error.h"
#include "generate/cassette/pace.h"
#include "generate/cassette/tape.h"
#include "generate/http/http_server.h"
#include "runtime/loop.h"

namespace specgen {

class Replayer {
 public:
  struct Counts {
    std::uint64_t exact = 0;
    std::uint64_t nearest = 0;
    std::uint64_t not_recorded = 0;
  };

  // It outlives the tasks of its handler.
  Replayer(Loop& loop, Cassette cassette, Pace pace)
      : loop_(loop), tape_(std::move(cassette)), pace_(pace) {}
  Replayer(const Replayer&) = delete;

  HttpServer::Handler handler();
  const Counts& counts() const { return counts_; }

 private:
  Task<Result<void>> answer(HttpServerRequest request, HttpReply& reply);
  Task<Result<void>> play(Match match, HttpReply& reply);

  Loop& loop_;
  Tape tape_;
  Pace pace_;
  Counts counts_;
};

}  // namespace specgen
