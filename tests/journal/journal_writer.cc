// A writer that tests kill or read beside: records entries and artifacts in a run folder and prints what it appends and
// what it knows to be durable. `journal_writer FOLDER COUNT [KILL_AT_OPERATION [ENTRY_BYTES]]`. KILL_AT_OPERATION 0:
// never. With ENTRY_BYTES entries have at least that size, and nothing is synced to the disk.

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>

#include "journal/journal.h"
#include "journal/sqlite_storage.h"
#include "support/faulty_vfs.h"

namespace specgen {
namespace {

void print(const std::string& line) {  // one write, so that a kill cannot cut a line
  std::string text = line + "\n";
  if (::write(STDOUT_FILENO, text.data(), text.size()) < 0) std::abort();
}

Task<Result<void>> write(Loop& loop, RealDriver& driver, std::string folder, std::uint64_t count,
                         std::size_t entry_bytes) {
  auto storage = CO_TRY(co_await SqliteStorage::open(loop, driver, folder));
  auto [journal, past] = CO_TRY(co_await Journal::open(loop, *storage));
  for (std::uint64_t i = 0; i < count; ++i) {
    std::uint64_t next = journal->last_appended() + 1;
    std::string body = "plain " + std::to_string(next) + " ";
    body.resize(std::max(body.size(), entry_bytes), 'x');
    if (next % 5 == 0) {
      ArtifactId id = CO_TRY(co_await storage->put("artifact " + std::to_string(next)));
      body = id.sha256;
    }
    print("appending " + std::to_string(next));
    CO_TRY(co_await journal->record(next % 5 == 0 ? "artifact" : "step", body));
    print("durable " + std::to_string(next));
  }
  co_return Result<void>();
}

}  // namespace
}  // namespace specgen

int main(int argc, char** argv) {
  using namespace specgen;
  if (argc < 3) return 2;
  FaultyVfs vfs;
  vfs.sync_for_real(argc <= 4);
  if (argc > 3) vfs.arm(FaultyVfs::Fault::kill, std::strtoull(argv[3], nullptr, 10));
  RealDriver driver;
  Loop loop(driver);
  std::size_t entry_bytes = argc > 4 ? std::strtoull(argv[4], nullptr, 10) : 0;
  auto done =
      loop.run(write(loop, driver, argv[1], std::strtoull(argv[2], nullptr, 10), entry_bytes));
  if (!done) {
    std::fprintf(stderr, "%s\n", done.error().text().c_str());
    return 1;
  }
  print("operations " + std::to_string(vfs.operations()));
  return 0;
}
