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
  if (failure_) return std::unexpected(*failure_);
  std::size_t bytes = type.size() + body.size();
  if (bytes > limits_.entry.count) {
    return fail(ErrorCode::entry_too_large,
                fmt::format("'{}' with {}", type.substr(0, 64), format_bytes({bytes})));
  }
  if (last_appended_ - last_durable_ >= limits_.waiting_entries ||
      waiting_bytes_ + bytes > limits_.waiting.count) {
    return fail(ErrorCode::journal_overloaded,
                fmt::format("{} entries are waiting", last_appended_ - last_durable_));
  }
  waiting_bytes_ += bytes;
  waiting_.push_back({++last_appended_, loop_.wall_now(), std::move(type), std::move(body)});
  appended_.set();
  return last_appended_;
}

Task<Result<void>> Journal::durable(std::uint64_t sequence) {
  SG_ASSERT(sequence <= last_appended_, "durable() of an entry that was not appended");
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

std::vector<Entry> Journal::take_batch() {
  std::vector<Entry> batch;
  std::size_t bytes = 0;
  while (!waiting_.empty() && batch.size() < limits_.batch_entries && bytes < limits_.batch.count) {
    bytes += waiting_.front().type.size() + waiting_.front().body.size();
    batch.push_back(std::move(waiting_.front()));
    waiting_.pop_front();
  }
  waiting_bytes_ -= bytes;
  if (waiting_.empty()) appended_.reset();
  return batch;
}

Task<void> Journal::write() {
  while (true) {
    co_await appended_.wait();
    std::vector<Entry> batch = take_batch();
    std::uint64_t last = batch.back().sequence;

    Result<void> committed = co_await storage_.commit(std::move(batch));
    if (committed) {
      last_durable_ = last;
      ++commits_;
    } else {
      failure_ = std::move(committed).error();
      waiting_.clear();
      waiting_bytes_ = 0;
    }
    progress_.set();  // wakes all waiters; each checks whether its own entry is durable
    progress_.reset();
    if (failure_) co_return;
  }
}

}  // namespace specgen
