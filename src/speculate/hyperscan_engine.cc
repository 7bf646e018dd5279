// Where the library was not there when this was built (it knows x86-64 alone), RE2 does its work.
#ifdef SPECGEN_HAS_HYPERSCAN
#include <hs/hs.h>
#endif

#include <fmt/format.h>

#include "base/assert.h"
#include "speculate/trigger_engine.h"

namespace specgen {

#ifdef SPECGEN_HAS_HYPERSCAN
namespace {

class HyperscanEngine final : public TriggerEngine {
 public:
  HyperscanEngine() = default;
  HyperscanEngine(const HyperscanEngine&) = delete;
  ~HyperscanEngine() override {
    hs_free_scratch(scratch_);
    hs_free_database(database_);
  }

  Result<void> compile(const std::vector<PortableRegex>& patterns) {
    std::vector<const char*> texts;
    std::vector<unsigned> flags(patterns.size(), 0), numbers;
    for (const PortableRegex& pattern : patterns) {
      numbers.push_back(static_cast<unsigned>(texts.size()));
      texts.push_back(pattern.text.c_str());
    }
    hs_compile_error_t* trouble = nullptr;
    hs_error_t compiled = hs_compile_multi(texts.data(), flags.data(), numbers.data(),
                                           static_cast<unsigned>(texts.size()), HS_MODE_STREAM,
                                           nullptr, &database_, &trouble);
    if (compiled != HS_SUCCESS) {
      std::string reason =
          trouble ? fmt::format("pattern {}: {}", trouble->expression, trouble->message)
                  : fmt::format("the patterns ({})", compiled);
      hs_free_compile_error(trouble);
      return fail(ErrorCode::bad_triggers, "Hyperscan refuses " + reason);
    }
    SG_ASSERT(hs_alloc_scratch(database_, &scratch_) == HS_SUCCESS, "there is no memory");
    return {};
  }

  std::string_view name() const override { return "hyperscan"; }

  std::size_t stream_bytes() const override {
    std::size_t bytes = 0;
    hs_stream_size(database_, &bytes);
    return bytes;
  }

  EngineStream* open() override {
    hs_stream_t* stream = nullptr;
    SG_ASSERT(hs_open_stream(database_, 0, &stream) == HS_SUCCESS, "there is no memory");
    return reinterpret_cast<EngineStream*>(stream);
  }

  void close(EngineStream* stream) override {
    hs_close_stream(reinterpret_cast<hs_stream_t*>(stream), nullptr, nullptr, nullptr);
  }

  void scan(EngineStream* stream, std::string_view text,
            std::vector<EngineMatch>& matches) override {
    auto on_match = [](unsigned number, unsigned long long, unsigned long long end, unsigned,
                       void* context) {
      static_cast<std::vector<EngineMatch>*>(context)->push_back({end, number});
      return 0;
    };
    hs_error_t scanned =
        hs_scan_stream(reinterpret_cast<hs_stream_t*>(stream), text.data(),
                       static_cast<unsigned>(text.size()), 0, scratch_, on_match, &matches);
    SG_ASSERT(scanned == HS_SUCCESS, "Hyperscan cannot scan");
  }

 private:
  hs_database_t* database_ = nullptr;
  hs_scratch_t* scratch_ = nullptr;
};

}  // namespace

Result<std::unique_ptr<TriggerEngine>> make_hyperscan_engine(
    const std::vector<PortableRegex>& patterns) {
  if (hs_valid_platform() != HS_SUCCESS) {
    return fail(ErrorCode::tool_missing, "this processor cannot run Hyperscan");
  }
  auto engine = std::make_unique<HyperscanEngine>();
  TRY(engine->compile(patterns));
  return engine;
}
#else
Result<std::unique_ptr<TriggerEngine>> make_hyperscan_engine(const std::vector<PortableRegex>&) {
  return fail(ErrorCode::tool_missing, "this program was built without Hyperscan");
}
#endif

}  // namespace specgen
