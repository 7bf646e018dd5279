#pragma once
// The playing of a cassette (a recording of HTTP exchanges): finds the recording that answers a request.
//
// Equal requests get their recordings in order, and then the last one again. A
// fork that was not recorded is answered by the nearest recorded fork of the same reasoning at or before
// its cut, and marked so. Anything else is an error that names the closest recorded request. The choice
// depends only on the requests and their order. Owned by a replayer or a cassette model; no I/O.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "generate/cassette/prompt_form.h"
#include "generate/cassette/recorded_answer.h"
#include "generate/cassette/recording.h"
#include "generate/model.h"

namespace specgen {

struct Match {
  const RecordedExchange* exchange = nullptr;
  const RecordedAnswer* answer = nullptr;  // parsed, if the request was to a model
  int choices = 1;                         // in the answer
  bool exact = true;
  bool content_only = false;  // the main generation's answer, without its reasoning
  std::string note;           // for display: why it is not exact
};

class Tape {
 public:
  explicit Tape(Cassette cassette);
  Tape(const Tape&) = delete;  // matches point into it

  const Cassette& cassette() const { return cassette_; }

  Result<Match> match(const RecordedRequest& request);  // from HTTP
  Result<Match> match(const Request& request);          // from a Model call

 private:
  enum class Kind {
    same,
    nearest
  };  // counted separately: a substitute must not use up a recording's turn
  struct Fork {
    std::size_t main;  // entry
    std::size_t cut;   // in its reasoning
  };
  struct Entry {
    std::optional<PromptForm> form;
    RecordedAnswer answer;
    std::optional<Fork> fork;
    bool answered = false;  // not refused
  };
  // Recorded forks that may substitute for the requested one.
  struct Nearest {
    std::size_t requested = 0;  // cut
    std::size_t cut = 0;        // the nearest at or before it
    std::vector<std::size_t> entries;
    std::optional<std::size_t> earliest;  // cut after it, for messages
    void offer(std::size_t entry, std::size_t its_cut, std::size_t requested_cut);
  };

  void find_forks();
  Match play(Kind kind, const std::vector<std::size_t>& entries);
  Result<Match> play(const Nearest& nearest);
  Result<Match> match_prompt(const Request& request, const std::vector<Turn>& turns);
  Result<Match> match_fork(const Request& request, const std::vector<Turn>& turns);
  std::unexpected<Error> not_recorded(const RecordedRequest& request) const;

  Cassette cassette_;
  std::vector<Entry> entries_;  // one per exchange
  std::map<std::string, std::vector<std::size_t>> by_key_;
  // How often each group of entries was played; the key has its first entry.
  std::map<std::pair<Kind, std::size_t>, std::size_t> played_;
};

}  // namespace specgen
