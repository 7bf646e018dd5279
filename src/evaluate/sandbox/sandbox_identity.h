#pragma once
// Who a sandboxed command is on the host, and at L1 the folder that it may write to. With root's rights
// each sandbox gets a uid that nobody else has: limits on processes count by uid, and what one sandbox
// starts can be killed by uid. Uids come from a range that distributions leave alone, 64 for each
// pid; where the host maps only 65536 uids (many containers) from a small range, where two programs
// may meet.

#include <cstdint>
#include <filesystem>
#include <string_view>

#include "base/error.h"

namespace specgen {

class SandboxUid {
 public:
  static SandboxUid take();
  SandboxUid(SandboxUid&& other) noexcept;
  SandboxUid& operator=(SandboxUid&&) = delete;
  ~SandboxUid();

  std::uint32_t value() const { return value_; }
  void kill_all() const;  // every process of it, at once; nothing where it may be shared

 private:
  SandboxUid(int slot, std::uint32_t value) : slot_(slot), value_(value) {}
  int slot_;  // -1 if it shares one
  std::uint32_t value_;
};

// From /proc/self/uid_map: whether this uid exists here.
bool is_mapped(std::string_view uid_map, std::uint32_t uid);

// specgen-sandbox-PID-N in the host's folder for temporary files, of that uid alone.
class PrivateFolder {
 public:
  static Result<PrivateFolder> make(std::uint32_t owner);
  PrivateFolder(PrivateFolder&& other) noexcept;
  PrivateFolder& operator=(PrivateFolder&&) = delete;
  ~PrivateFolder();  // with all that is in it; no link in it is followed

  const std::filesystem::path& path() const { return path_; }

 private:
  explicit PrivateFolder(std::filesystem::path path) : path_(std::move(path)) {}
  std::filesystem::path path_;
};

void remove_folders_of_the_dead();

}  // namespace specgen
