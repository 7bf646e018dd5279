#include "journal/journal.h"

#include <fmt/core.h>

#include <algorithm>

namespace specgen {

Task<Result<Journal::Opened>> Journal::open(Loop& loop, Storage& storage, JournalLimits limits) {
  std::vector<Entry> past = CO_TRY(co_await storage.load());
  std::uint64_t last = past.empty() ? 0 : past.back().sequence;
  std::unique_ptr<Journal> journal(new Journal(loop, storage, limits, last));
  co_return Opened{std::move(journal), std::move(past)};
}

Journal::Journal(Loop& loop, Storage& storage, JournalLimits limits, std::uint64_t last)
    : loop_(loop),
      storage_(storage),
      limits_(limits),
      last_appended_(last),
      last_durable_(last),
      appended_(loop),
      progress_(loop),
      writer_(loop) {
  writer_.spawn(write());
}

Result<std::uint64_t> Journal::append(std::string type, std::string body) {
  SG_ASSERT(body.size() <= limits_.entry_bytes.count, "what is big belongs into an artifact");
  if (failure_) return std::unexpected(*failure_);
  if (last_appended_ - last_durable_ >= limits_.waiting_entries) {
    return fail(ErrorCode::journal_overloaded,
                fmt::format("{} entries wait", limits_.waiting_entries));
  }
  waiting_.push_back({++last_appended_, loop_.wall_now(), std::move(type), std::move(body)});
  appended_.set();
  return last_appended_;
}

Task<Result<void>> Journal::durable(std::uint64_t sequence) {
  SG_ASSERT(sequence <= last_appended_, "nobody appended that entry");
  while (last_durable_ < sequence) {
    if (failure_) co_return std::unexpected(*failure_);
    co_await progress_.wait();
  }
  co_return Result<void>();
}

Task<Result<void>> Journal::record(std::string type, std::string body) {
  std::uint64_t sequence = CO_TRY(append(std::move(type), std::move(body)));
  co_return co_await durable(sequence);
}

Task<Result<void>> Journal::flush() {
  return durable(last_appended_);
}

Task<void> Journal::write() {
  while (true) {
    co_await appended_.wait();
    std::size_t count = std::min(waiting_.size(), limits_.batch_entries);
    std::vector<Entry> batch(
        std::make_move_iterator(waiting_.begin()),
        std::make_move_iterator(waiting_.begin() + static_cast<std::ptrdiff_t>(count)));
    waiting_.erase(waiting_.begin(), waiting_.begin() + static_cast<std::ptrdiff_t>(count));
    if (waiting_.empty()) appended_.reset();
    std::uint64_t last = batch.back().sequence;

    Result<void> committed = co_await storage_.commit(std::move(batch));
    if (committed) {
      last_durable_ = last;
      ++commits_;
    } else {
      failure_ = std::move(committed).error();
      waiting_.clear();
    }
    progress_
        .set();  // wakes everyone who waits now; each looks for itself whether it has what it wants
    progress_.reset();
    if (failure_) co_return;
  }
}

}  // namespace specgen
