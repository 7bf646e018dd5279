// A run that can be killed: records entries and artifacts in a run folder and says on standard
// output what it appends and what it knows to be durable. `journal_writer FOLDER COUNT
// [KILL_AT_OPERATION]`.

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>

#include "journal/journal.h"
#include "journal/sqlite_storage.h"
#include "support/faulty_vfs.h"

namespace specgen {
namespace {

void say(const std::string& line) {  // one write, so that a kill cannot cut a line
  std::string text = line + "\n";
  if (::write(STDOUT_FILENO, text.data(), text.size()) < 0) std::abort();
}

Task<Result<void>> work(Loop& loop, RealDriver& driver, std::string folder, std::uint64_t count) {
  auto storage = CO_TRY(co_await SqliteStorage::open(loop, driver, folder));
  auto [journal, past] = CO_TRY(co_await Journal::open(loop, *storage));
  for (std::uint64_t i = 0; i < count; ++i) {
    std::uint64_t next = journal->last_appended() + 1;
    std::string body = "plain " + std::to_string(next);
    if (next % 5 == 0) {
      ArtifactId id = CO_TRY(co_await storage->put("artifact " + std::to_string(next)));
      body = id.sha256;
    }
    say("appending " + std::to_string(next));
    CO_TRY(co_await journal->record(next % 5 == 0 ? "artifact" : "step", body));
    say("durable " + std::to_string(next));
  }
  co_return Result<void>();
}

}  // namespace
}  // namespace specgen

int main(int argc, char** argv) {
  using namespace specgen;
  if (argc < 3) return 2;
  FaultyVfs vfs;
  vfs.sync_for_real(true);
  if (argc > 3) vfs.arm(FaultyVfs::Fault::kill, std::strtoull(argv[3], nullptr, 10));
  RealDriver driver;
  Loop loop(driver);
  auto done = loop.run(work(loop, driver, argv[1], std::strtoull(argv[2], nullptr, 10)));
  if (!done) {
    std::fprintf(stderr, "%s\n", done.error().text().c_str());
    return 1;
  }
  say("operations " + std::to_string(vfs.operations()));
  return 0;
}
