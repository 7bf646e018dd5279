#pragma once
// A virtual model, as the controller uses it: a Model whose streams take virtual time, with the real EndpointGate,
// the real retry policy, and a ledger row for each attempt that was sent. Faults are reported as by the real client:
// failures before the first token are retried, later ones are errors.
//
// Everything it needs to know about a fork is in the prefix of the fork. Owned by the controller; a kill destroys it
// with its generations. The endpoint remains.

#include <memory>
#include <string>

#include "base/error.h"
#include "base/random.h"
#include "generate/call_ledger.h"
#include "generate/model.h"
#include "generate/openai/attempt_failure.h"
#include "generate/openai/endpoint_gate.h"
#include "runtime/loop.h"
#include "simulate/faults.h"
#include "simulate/skill.h"
#include "simulate/virtual_endpoint.h"
#include "simulate/virtual_trace.h"

namespace specgen {

struct WritingSettings {
  double reasoning_tokens = 18'000;  // median
  double reasoning_sigma = 0.5;      // of its logarithm
  double answer_tokens = 1'500;      // median
  double answer_sigma = 0.3;
  double advice_tokens = 1'200;  // reasoning and answer of advice
  double no_kernel = 0.02;       // probability of an answer without a kernel
};

struct ModelSettings {
  EndpointSettings endpoint = {};
  WritingSettings writing = {};
  TraceSettings trace = {};
  SkillSettings skill = {};
  Prices prices = {};
};

class VirtualModel final : public Model {
 public:
  // All must outlive the model.
  VirtualModel(Loop& loop, const ModelSettings& settings, VirtualEndpoint& endpoint, Faults& faults,
               CallLedger& ledger, Random random);

  const ModelInfo& info() const override { return info_; }
  Task<Result<std::unique_ptr<Generation>>> start(Request request) override;

 private:
  friend class VirtualCall;

  Loop& loop_;
  const ModelSettings& settings_;
  Skill skill_;
  VirtualEndpoint& endpoint_;
  Faults& faults_;
  CallLedger& ledger_;
  Random random_;
  ModelInfo info_;
  EndpointGate gate_;
  RetryPolicy retry_;
};

}  // namespace specgen
