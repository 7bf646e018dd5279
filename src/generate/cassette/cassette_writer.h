#pragma once
// Writes a cassette file during recording. Adding a record only queues it; a thread writes to the disk, so that
// streams never wait. A file lock allows one writing process.
//
//   auto writer = CO_TRY(CassetteWriter::open(loop, driver, "a.cassette", WriteMode::create));
//   race(serve(...), writer->write_out());     // write_out() returns only if the disk fails
//   CO_TRY(co_await writer->close());          // everything is on the disk
//
// Destroyed without close(), it loses what is queued; the file stays readable.

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

#include "base/error.h"
#include "base/file.h"
#include "generate/cassette/cassette_format.h"
#include "generate/cassette/recording.h"
#include "runtime/loop.h"
#include "runtime/real_driver.h"
#include "runtime/sync.h"
#include "runtime/worker_thread.h"

namespace specgen {

enum class WriteMode {
  create,  // an existing file is an error
  append,  // continue after the last complete record; a missing file is created
};

class CassetteWriter {
 public:
  static Result<std::unique_ptr<CassetteWriter>> open(Loop& loop, RealDriver& driver,
                                                      const std::filesystem::path& path,
                                                      WriteMode mode);
  CassetteWriter(const CassetteWriter&) = delete;
  CassetteWriter& operator=(const CassetteWriter&) = delete;

  void session(std::string_view upstream);
  std::uint64_t request(const RecordedRequest& request);  // returns the number of the exchange
  void head(std::uint64_t number, Duration after, const HttpHead& head);
  void piece(std::uint64_t number, Duration after, std::string_view bytes);
  void end(std::uint64_t number, Duration after, ExchangeEnd how, std::string_view error = {});

  Task<Result<void>> write_out();  // until cancelled
  Task<Result<void>> close();

  std::uint64_t exchanges() const { return last_number_; }
  Bytes size() const { return {size_}; }  // of the file, once everything is written

 private:
  CassetteWriter(Loop& loop, RealDriver& driver, std::shared_ptr<Fd> file, std::string name,
                 const Cassette& before);
  void add(std::string line);

  Loop& loop_;
  std::string name_;
  std::shared_ptr<Fd> file_;  // shared with the thread's jobs
  CassetteEncoder encoder_;
  std::uint64_t last_number_;
  std::uint64_t size_;
  std::string queued_;
  Event something_queued_;
  WorkerThread thread_;
};

}  // namespace specgen
