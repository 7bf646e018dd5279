#include "journal/virtual_storage.h"

#include <fmt/core.h>

namespace specgen {
namespace {

std::size_t size_of(const Entry& entry) {
  return entry.type.size() + entry.body.size() + 32;
}

// A commit that is on its way when the run crashes may have reached the disk, or may not have.
class InFlight {
 public:
  InFlight(Loop& loop, VirtualDisk& disk, std::vector<Entry> batch)
      : loop_(loop), disk_(disk), batch_(std::move(batch)) {}
  InFlight(const InFlight&) = delete;
  ~InFlight() {
    if (!landed_ && loop_.random().chance(0.5)) land();
  }
  void land() {
    landed_ = true;
    for (Entry& entry : batch_) disk_.entries.push_back(std::move(entry));
  }

 private:
  Loop& loop_;
  VirtualDisk& disk_;
  std::vector<Entry> batch_;
  bool landed_ = false;
};

}  // namespace

Bytes VirtualDisk::used() const {
  std::size_t bytes = 0;
  for (const Entry& entry : entries) bytes += size_of(entry);
  for (const auto& [name, content] : files) bytes += content.size();
  return {bytes};
}

Result<void> VirtualStorage::write(std::size_t bytes) {
  if (++disk_.writes == disk_.failing_write) {
    return fail(ErrorCode::journal_failed,
                fmt::format("virtual disk: write {} fails", disk_.writes));
  }
  if (disk_.used().count + bytes > disk_.capacity.count) {
    return fail(ErrorCode::disk_full, "virtual disk");
  }
  return {};
}

Task<Result<std::vector<Entry>>> VirtualStorage::load() {
  co_return disk_.entries;
}

Task<Result<void>> VirtualStorage::commit(std::vector<Entry> batch) {
  std::size_t bytes = 0;
  for (const Entry& entry : batch) CO_TRY(write(bytes += size_of(entry)));
  CO_TRY(write(bytes));
  InFlight commit(loop_, disk_, std::move(batch));
  co_await loop_.sleep(disk_.commit_time);
  commit.land();
  co_return Result<void>();
}

Task<Result<void>> VirtualStorage::put(std::string name, std::string bytes) {
  CO_TRY(write(bytes.size()));
  co_await loop_.sleep(disk_.commit_time);
  disk_.files[name] =
      std::move(bytes);  // renamed into place: a crash before this line leaves nothing
  co_return Result<void>();
}

Task<Result<std::string>> VirtualStorage::get(std::string name) {
  auto found = disk_.files.find(name);
  if (found == disk_.files.end()) co_return fail(ErrorCode::file_not_found, name);
  co_return found->second;
}

}  // namespace specgen
