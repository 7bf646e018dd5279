#include "simulate/virtual_model.h"

#include <fmt/core.h>

#include <utility>

#include "simulate/virtual_call.h"

namespace specgen {
namespace {

constexpr int kMaxVirtualChoices = 64;

}  // namespace

VirtualModel::VirtualModel(Loop& loop, const ModelSettings& settings, VirtualEndpoint& endpoint,
                           Faults& faults, CallLedger& ledger, Random random)
    : loop_(loop),
      settings_(settings),
      skill_(settings.skill),
      endpoint_(endpoint),
      faults_(faults),
      ledger_(ledger),
      random_(random),
      gate_(loop, {.max_concurrent = static_cast<std::size_t>(settings.endpoint.concurrency)}) {
  info_.name = "virtual";
  info_.is_language_model = false;
  info_.prices = settings.prices;
}

Task<Result<std::unique_ptr<Generation>>> VirtualModel::start(Request request) {
  if (request.count < 1 || request.count > kMaxVirtualChoices) {
    co_return fail(
        ErrorCode::bad_usage,
        fmt::format("a virtual model gives 1 to {} answers at a time", kMaxVirtualChoices));
  }
  auto call = std::make_unique<VirtualCall>(*this, std::move(request), random_.fork("call"));
  CO_TRY(co_await call->begin());
  co_return call;
}

}  // namespace specgen
