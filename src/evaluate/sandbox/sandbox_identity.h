#pragma once
// The uid of a sandboxed command on the host, and at L1 the folder that it may write to. If we are
// root each sandbox gets a uid of its own: limits on processes count by uid, and all processes of a
// sandbox can be killed by uid. Uids come from a range that distributions leave unused, 64 for each
// pid. If the host maps only 65536 uids (many containers), they come from a small range, in which
// two programs may get the same one.

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
  void kill_all() const;  // every process of it, at once; does nothing if the uid may be shared

 private:
  SandboxUid(int slot, std::uint32_t value) : slot_(slot), value_(value) {}
  int slot_;  // -1: shared
  std::uint32_t value_;
};

// Whether /proc/self/uid_map contains this uid.
bool is_mapped(std::string_view uid_map, std::uint32_t uid);

// specgen-sandbox-PID-N in the host's folder for temporary files, accessible to that uid only.
class PrivateFolder {
 public:
  static Result<PrivateFolder> make(std::uint32_t owner);
  PrivateFolder(PrivateFolder&& other) noexcept;
  PrivateFolder& operator=(PrivateFolder&&) = delete;
  ~PrivateFolder();  // removes it with its contents; follows no links

  const std::filesystem::path& path() const { return path_; }

 private:
  explicit PrivateFolder(std::filesystem::path path) : path_(std::move(path)) {}
  std::filesystem::path path_;
};

void remove_folders_of_dead_processes();

}  // namespace specgen
