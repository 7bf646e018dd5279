#pragma once
// A file system for SQLite that does what disks do: fail, fill up, or lose power at the Nth
// operation. Real SQLite runs on it over real files. Operations are what changes a file: write,
// truncate, sync, delete. While one exists it is SQLite's default.
//
// Power loss: from the Nth operation on nothing gets through; afterwards restore_after_power_loss()
// puts the files back to what the last sync promised, plus any part of the later writes (disks
// reorder and tear).

#include <sqlite3.h>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/random.h"

namespace specgen {

class FaultyVfs {
 public:
  enum class Fault { none, io_error, disk_full, power_loss, kill };

  FaultyVfs();
  ~FaultyVfs();
  FaultyVfs(const FaultyVfs&) = delete;
  FaultyVfs& operator=(const FaultyVfs&) = delete;

  // The Nth operation from now (1 is the next), and for power_loss everything after it.
  void arm(Fault fault, std::uint64_t at_operation);
  std::uint64_t operations() const { return operations_; }
  bool fired() const { return fault_ != Fault::none && operations_ >= at_operation_; }

  // Real syncs are slow and prove nothing about a simulated loss of power; on by request only.
  void sync_for_real(bool real) { real_sync_ = real; }

  void restore_after_power_loss(Random& random);

 private:
  struct Change {  // not yet synced
    std::int64_t offset;
    std::string bytes;
    bool truncate;
  };
  struct Content {
    std::string synced;
    std::vector<Change> changes;
  };
  struct File;

  static void apply(const Change& change, std::size_t count, std::string& to);
  int next_operation(int io_error_code);  // SQLITE_OK, or what the fault makes of it
  static File& self(sqlite3_file* file);
  static FaultyVfs& self(sqlite3_vfs* vfs);
  static const sqlite3_io_methods kMethods;

  static int open(sqlite3_vfs*, const char* name, sqlite3_file*, int flags, int* out_flags);
  static int remove(sqlite3_vfs*, const char* name, int sync_folder);
  static int close(sqlite3_file*);
  static int read(sqlite3_file*, void*, int, sqlite3_int64);
  static int write(sqlite3_file*, const void*, int, sqlite3_int64);
  static int truncate(sqlite3_file*, sqlite3_int64);
  static int sync(sqlite3_file*, int flags);
  static int file_size(sqlite3_file*, sqlite3_int64*);
  static int lock(sqlite3_file*, int);
  static int unlock(sqlite3_file*, int);
  static int check_reserved_lock(sqlite3_file*, int*);
  static int file_control(sqlite3_file*, int, void*);
  static int sector_size(sqlite3_file*);
  static int characteristics(sqlite3_file*);

  sqlite3_vfs* real_;
  sqlite3_vfs vfs_;
  Fault fault_ = Fault::none;
  std::uint64_t at_operation_ = 0;
  std::uint64_t operations_ = 0;
  bool real_sync_ = false;
  std::map<std::string, Content> contents_;
};

}  // namespace specgen
