#pragma once
// A recorded conversation as a Model: `--model cassette:FILE`. It plays in the loop's time without a
// socket, so also in virtual time; the same requests in the same order get the same events at the same
// times. A fork that was not recorded is answered from the nearest recorded cut before it; Ended::note and
// the ledger say so. The recording of a cancelled call ends in an error, since the rest of its answer
// is unknown.

#include <filesystem>
#include <memory>

#include "base/error.h"
#include "generate/call_ledger.h"
#include "generate/cassette/pace.h"
#include "generate/cassette/recording.h"
#include "generate/model.h"
#include "runtime/loop.h"

namespace specgen {

// Reads the whole file. Loop and ledger outlive the model.
Result<std::unique_ptr<Model>> open_cassette(Loop& loop, CallLedger& ledger,
                                             const std::filesystem::path& file, Pace pace = {});
std::unique_ptr<Model> cassette_model(Loop& loop, CallLedger& ledger, Cassette cassette,
                                      Pace pace = {});

}  // namespace specgen
