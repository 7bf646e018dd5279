#include "journal/virtual_storage.h"

#include <fmt/core.h>

#include "base/hash.h"

namespace specgen {
namespace {

std::size_t size_of(const Entry& entry) {
  return entry.type.size() + entry.body.size() + 32;
}

// A commit in progress when the run crashes may or may not have reached the disk.
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
    for (Entry& entry : batch_) {
      disk_.used_bytes += size_of(entry);
      disk_.entries.push_back(std::move(entry));
    }
  }

 private:
  Loop& loop_;
  VirtualDisk& disk_;
  std::vector<Entry> batch_;
  bool landed_ = false;
};

}  // namespace

Result<void> VirtualStorage::write(std::size_t bytes) {
  if (++disk_.writes == disk_.failing_write) {
    return fail(ErrorCode::journal_failed,
                fmt::format("virtual disk: write {} fails", disk_.writes));
  }
  if (disk_.used_bytes + bytes > disk_.capacity.count) {
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
  InFlight commit(loop_, disk_, std::move(batch));
  CO_TRY(write(bytes));  // a sync that fails may have reached the disk nevertheless
  co_await loop_.sleep(disk_.commit_time);
  commit.land();
  co_return Result<void>();
}

Task<Result<ArtifactId>> VirtualStorage::put(std::string bytes) {
  CO_TRY(write(bytes.size()));
  co_await loop_.sleep(disk_.commit_time);
  ArtifactId id{sha256_hex(bytes)};
  std::size_t size = bytes.size();
  bool is_new = disk_.artifacts.insert_or_assign(id.sha256, std::move(bytes)).second;
  if (is_new) disk_.used_bytes += size;
  co_return id;
}

Task<Result<std::string>> VirtualStorage::get(ArtifactId id) {
  auto found = disk_.artifacts.find(id.sha256);
  if (found == disk_.artifacts.end()) co_return fail(ErrorCode::file_not_found, id.sha256);
  if (sha256_hex(found->second) != id.sha256)
    co_return fail(ErrorCode::artifact_damaged, id.sha256);
  co_return found->second;
}

}  // namespace specgen
