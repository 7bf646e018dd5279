#pragma once
// A recorded conversation as a Model: `--model cassette:FILE`. It plays in the loop's time, without a
// socket, so in virtual time too; the same requests in the same order get the same events at the same
// times. A fork that was not recorded is answered from the nearest recorded cut before it; Ended::note and
// the ledger say so. What was recorded of a call that was cancelled ends in an error: what would have
// come next, nobody knows.

#include <filesystem>
#include <memory>

#include "base/error.h"
#include "generate/call_ledger.h"
#include "generate/cassette/pace.h"
#include "generate/cassette/recording.h"
#include "generate/model.h"
#include "runtime/loop.h"

namespace specgen {

// Reads all of the file at once. The ledger must outlive the model.
Result<std::unique_ptr<Model>> open_cassette(Loop& loop, CallLedger& ledger,
                                             const std::filesystem::path& file, Pace pace = {});
std::unique_ptr<Model> cassette_model(Loop& loop, CallLedger& ledger, Cassette cassette,
                                      Pace pace = {});

}  // namespace specgen
