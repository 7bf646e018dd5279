#pragma once
// The author as a Model: streams author_text() at the author's pace. Streams use the loop's clock, so they also work in
// virtual time; nothing is sent over a network. Cancelling a generation costs nothing.

#include <memory>
#include <string>
#include <string_view>

#include "base/error.h"
#include "generate/author/author_options.h"
#include "generate/call_ledger.h"
#include "generate/model.h"
#include "runtime/loop.h"

namespace specgen {

class AuthorModel final : public Model {
 public:
  // `ledger` may be null; both outlive the model.
  AuthorModel(Loop& loop, AuthorOptions options, CallLedger* ledger = nullptr,
              std::string name = "author");

  const ModelInfo& info() const override { return info_; }
  Task<Result<std::unique_ptr<Generation>>> start(Request request) override;

 private:
  Loop& loop_;
  AuthorOptions options_;
  CallLedger* ledger_;
  ModelInfo info_;
};

// For `--model author` and `--model author:PACE`; `pace` may be empty.
Result<std::unique_ptr<Model>> open_author(Loop& loop, std::string_view pace, std::uint64_t seed,
                                           CallLedger* ledger = nullptr);

// The usage of the prompt alone.
Usage prompt_usage(const Request& request);

inline constexpr int kMaxChoices = 64;

}  // namespace specgen
