#pragma once
// A cassette that is being played: which recording answers a request.
//
// The same request gets its recordings in their order, and the last one again when there are no more. A
// fork that was not recorded is answered by the nearest recorded fork of the same reasoning at or before
// its cut, and marked so. Anything else was not recorded, and is an error that says what was. The choice
// depends on the requests and their order alone.

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
  const RecordedAnswer* answer = nullptr;  // what it says, if a model was asked
  int choices = 1;                         // of it
  bool exact = true;
  bool content_only = false;  // the conversation's own answer, without the reasoning before it
  std::string note;           // for people: how it is not exact
};

class Tape {
 public:
  explicit Tape(Cassette cassette);
  Tape(const Tape&) = delete;  // matches point into it

  const Cassette& cassette() const { return cassette_; }

  Result<Match> match(const RecordedRequest& request);  // as it comes over HTTP
  Result<Match> match(const Request& request);          // as a program of ours asks

 private:
  enum class Kind { same, nearest };  // counted apart: a stand-in takes nobody's turn
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
  // Recorded forks that may stand in for one that is asked for.
  struct Nearest {
    std::size_t asked = 0;  // the cut asked for
    std::size_t cut = 0;    // the nearest at or before it
    std::vector<std::size_t> entries;
    std::optional<std::size_t> earliest;  // of the cuts behind it, for messages
    void offer(std::size_t entry, std::size_t its_cut, std::size_t asked_cut);
  };

  void find_forks();
  Match play(Kind kind, const std::vector<std::size_t>& entries);
  Result<Match> play(const Nearest& nearest);
  Result<Match> match_prompt(const Request& request, const std::vector<Turn>& turns);
  Result<Match> match_fork(const Request& request, const std::vector<Turn>& turns);
  std::unexpected<Error> not_recorded(const RecordedRequest& request) const;

  Cassette cassette_;
  std::vector<Entry> entries_;  // one for each exchange
  std::map<std::string, std::vector<std::size_t>> by_key_;
  // How often something was played, by the first entry of what could be.
  std::map<std::pair<Kind, std::size_t>, std::size_t> played_;
};

}  // namespace specgen
