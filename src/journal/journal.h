#pragma once
// The durable record of a run: an append-only list of entries. State is a fold over them, so a run that was killed at
// any point is resumed by folding again.
//
//   auto [journal, past] = CO_TRY(co_await Journal::open(loop, storage));
//   History history = CO_TRY(fold<History>(past));
//   CO_TRY(journal->append("call-intent", body));         // enqueued: a fork must not wait for the disk
//   CO_TRY(co_await journal->record("verdict", body));    // counts only when it is durable
//
// Commits are grouped: entries appended while one commit is being written form the next. After a failure (disk full,
// I/O error) every later call returns that error; acknowledged entries are safe. Destroying the journal drops entries
// that were appended but not awaited; call flush() first to keep them.

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "journal/storage.h"
#include "runtime/loop.h"
#include "runtime/sync.h"
#include "runtime/task_group.h"

namespace specgen {

struct JournalLimits {
  Bytes entry = MiB(1);  // type and body of one; anything larger belongs in an artifact
  std::size_t waiting_entries = 100'000;  // appended and not yet durable
  Bytes waiting = MiB(64);
  std::size_t batch_entries = 1000;  // of one commit
  Bytes batch = MiB(4);              // a batch that has reached this takes no more entries
};

class Journal {
 public:
  struct Opened {
    std::unique_ptr<Journal> journal;
    std::vector<Entry> past;
  };
  // The storage must outlive the journal.
  static Task<Result<Opened>> open(Loop& loop, Storage& storage, JournalLimits limits = {});

  // Numbers the entry and enqueues it; returns the number, for durable().
  Result<std::uint64_t> append(std::string type, std::string body);

  // Waits until this entry and all before it would survive a crash.
  Task<Result<void>> durable(std::uint64_t sequence);

  Task<Result<void>> record(std::string type, std::string body);
  Task<Result<void>> flush();

  std::uint64_t last_appended() const { return last_appended_; }
  std::uint64_t last_durable() const { return last_durable_; }
  std::uint64_t commits() const { return commits_; }

 private:
  Journal(Loop& loop, Storage& storage, JournalLimits limits, std::uint64_t last);
  Task<void> write();
  std::vector<Entry> take_batch();

  Loop& loop_;
  Storage& storage_;
  JournalLimits limits_;
  std::deque<Entry> waiting_;
  std::size_t waiting_bytes_ = 0;
  std::uint64_t last_appended_;
  std::uint64_t last_durable_;
  std::uint64_t commits_ = 0;
  std::optional<Error> failure_;
  Event appended_;
  Event progress_;  // something became durable, or the journal failed
  TaskGroup writer_;
};

// State has `Result<void> apply(const Entry&)`.
template <class State>
Result<State> fold(const std::vector<Entry>& entries, State state = {}) {
  for (const Entry& entry : entries) TRY(state.apply(entry));
  return state;
}

}  // namespace specgen
