#include "support/faulty_vfs.h"

#include <signal.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <new>

namespace specgen {

struct FaultyVfs::File {
  sqlite3_file base;  // first: SQLite sees only this
  FaultyVfs* vfs;
  std::string* path;  // null for temporary files, which no crash matters to
  sqlite3_file* real() { return reinterpret_cast<sqlite3_file*>(this + 1); }
  const sqlite3_io_methods& methods() { return *real()->pMethods; }
};

const sqlite3_io_methods FaultyVfs::kMethods = {
    .iVersion = 1,  // no shared memory: the journal does not use it
    .xClose = close,
    .xRead = read,
    .xWrite = write,
    .xTruncate = truncate,
    .xSync = sync,
    .xFileSize = file_size,
    .xLock = lock,
    .xUnlock = unlock,
    .xCheckReservedLock = check_reserved_lock,
    .xFileControl = file_control,
    .xSectorSize = sector_size,
    .xDeviceCharacteristics = characteristics,
    .xShmMap = nullptr,
    .xShmLock = nullptr,
    .xShmBarrier = nullptr,
    .xShmUnmap = nullptr,
    .xFetch = nullptr,
    .xUnfetch = nullptr,
};

FaultyVfs::FaultyVfs() : real_(sqlite3_vfs_find(nullptr)), vfs_(*real_) {
  vfs_.zName = "faulty";
  vfs_.szOsFile = static_cast<int>(sizeof(File)) + real_->szOsFile;
  vfs_.pAppData = this;
  vfs_.xOpen = open;
  vfs_.xDelete = remove;
  // The rest (full path names, access, randomness, time) is the real one's; it looks at its own
  // pAppData.
  vfs_.xFullPathname = [](sqlite3_vfs* vfs, const char* name, int n, char* out) {
    return self(vfs).real_->xFullPathname(self(vfs).real_, name, n, out);
  };
  vfs_.xAccess = [](sqlite3_vfs* vfs, const char* name, int flags, int* out) {
    return self(vfs).real_->xAccess(self(vfs).real_, name, flags, out);
  };
  sqlite3_vfs_register(&vfs_, 1);
}

FaultyVfs::~FaultyVfs() {
  sqlite3_vfs_unregister(&vfs_);
  sqlite3_vfs_register(real_, 1);
}

void FaultyVfs::arm(Fault fault, std::uint64_t at_operation) {
  fault_ = fault;
  at_operation_ = operations_ + at_operation;
}

int FaultyVfs::next_operation(int io_error_code) {
  ++operations_;
  bool here = operations_ == at_operation_;
  switch (fault_) {
    case Fault::none:
      return SQLITE_OK;
    case Fault::io_error:
      return here ? io_error_code : SQLITE_OK;
    case Fault::disk_full:
      return here ? SQLITE_FULL : SQLITE_OK;
    case Fault::power_loss:
      return operations_ >= at_operation_ ? io_error_code : SQLITE_OK;
    case Fault::kill:
      if (here) ::raise(SIGKILL);
      return SQLITE_OK;
  }
  return SQLITE_OK;
}

FaultyVfs::File& FaultyVfs::self(sqlite3_file* file) {
  return *reinterpret_cast<File*>(file);
}
FaultyVfs& FaultyVfs::self(sqlite3_vfs* vfs) {
  return *static_cast<FaultyVfs*>(vfs->pAppData);
}

int FaultyVfs::open(sqlite3_vfs* vfs, const char* name, sqlite3_file* file, int flags,
                    int* out_flags) {
  File& opened = *new (file) File{};
  opened.vfs = &self(vfs);
  int result = opened.vfs->real_->xOpen(opened.vfs->real_, name, opened.real(), flags, out_flags);
  if (result != SQLITE_OK) return result;
  opened.base.pMethods = &kMethods;
  if (name) {
    opened.path = new std::string(name);
    if (!opened.vfs->contents_.contains(name)) {
      std::ifstream existing(name, std::ios::binary);
      opened.vfs->contents_[name].synced = {std::istreambuf_iterator<char>(existing), {}};
    }
  }
  return SQLITE_OK;
}

int FaultyVfs::close(sqlite3_file* file) {
  File& closing = self(file);
  delete closing.path;
  return closing.methods().xClose(closing.real());
}

int FaultyVfs::remove(sqlite3_vfs* vfs, const char* name, int sync_folder) {
  FaultyVfs& faulty = self(vfs);
  if (int result = faulty.next_operation(SQLITE_IOERR_DELETE); result != SQLITE_OK) return result;
  faulty.contents_.erase(name);
  return faulty.real_->xDelete(faulty.real_, name, faulty.real_sync_ ? sync_folder : 0);
}

int FaultyVfs::write(sqlite3_file* file, const void* bytes, int count, sqlite3_int64 offset) {
  File& written = self(file);
  if (int result = written.vfs->next_operation(SQLITE_IOERR_WRITE); result != SQLITE_OK)
    return result;
  if (written.path) {
    std::string copy(static_cast<const char*>(bytes), static_cast<std::size_t>(count));
    written.vfs->contents_[*written.path].changes.push_back({offset, std::move(copy), false});
  }
  return written.methods().xWrite(written.real(), bytes, count, offset);
}

int FaultyVfs::truncate(sqlite3_file* file, sqlite3_int64 size) {
  File& truncated = self(file);
  if (int result = truncated.vfs->next_operation(SQLITE_IOERR_TRUNCATE); result != SQLITE_OK)
    return result;
  if (truncated.path) truncated.vfs->contents_[*truncated.path].changes.push_back({size, {}, true});
  return truncated.methods().xTruncate(truncated.real(), size);
}

int FaultyVfs::sync(sqlite3_file* file, int flags) {
  File& synced = self(file);
  if (int result = synced.vfs->next_operation(SQLITE_IOERR_FSYNC); result != SQLITE_OK)
    return result;
  if (synced.path) {
    Content& content = synced.vfs->contents_[*synced.path];
    for (const Change& change : content.changes) apply(change, change.bytes.size(), content.synced);
    content.changes.clear();
  }
  return synced.vfs->real_sync_ ? synced.methods().xSync(synced.real(), flags) : SQLITE_OK;
}

// The first `count` bytes of the change.
void FaultyVfs::apply(const Change& change, std::size_t count, std::string& to) {
  auto offset = static_cast<std::size_t>(change.offset);
  if (change.truncate) {
    to.resize(offset);
  } else if (count > 0) {
    to.resize(std::max(to.size(), offset + count));
    to.replace(offset, count, change.bytes, 0, count);
  }
}

void FaultyVfs::restore_after_power_loss(Random& random) {
  for (auto& [path, content] : contents_) {
    std::string bytes = content.synced;
    for (const Change& change : content.changes) {
      if (random.chance(0.5)) continue;  // never left the cache
      std::size_t count = change.bytes.size();
      if (random.chance(0.3)) count = random.below(count + 1);  // torn
      apply(change, count, bytes);
    }
    if (content.changes.empty()) continue;
    std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
  }
  contents_.clear();
}

int FaultyVfs::read(sqlite3_file* f, void* to, int n, sqlite3_int64 at) {
  return self(f).methods().xRead(self(f).real(), to, n, at);
}
int FaultyVfs::file_size(sqlite3_file* f, sqlite3_int64* out) {
  return self(f).methods().xFileSize(self(f).real(), out);
}
int FaultyVfs::lock(sqlite3_file* f, int level) {
  return self(f).methods().xLock(self(f).real(), level);
}
int FaultyVfs::unlock(sqlite3_file* f, int level) {
  return self(f).methods().xUnlock(self(f).real(), level);
}
int FaultyVfs::check_reserved_lock(sqlite3_file* f, int* out) {
  return self(f).methods().xCheckReservedLock(self(f).real(), out);
}
int FaultyVfs::file_control(sqlite3_file* f, int what, void* data) {
  return self(f).methods().xFileControl(self(f).real(), what, data);
}
int FaultyVfs::sector_size(sqlite3_file* f) {
  return self(f).methods().xSectorSize(self(f).real());
}
// None promised: no atomic sectors, no safe append, no powersafe overwrite.
int FaultyVfs::characteristics(sqlite3_file*) {
  return 0;
}

}  // namespace specgen
