#include "speculate/side_generations.h"

#include <utility>

namespace specgen {
namespace {

constexpr int kPriority = -1;  // relative to main generations

}  // namespace

Request side_request(const IterationSetup& setup) {
  Request request = setup.main;
  request.mode = Mode::answer;
  request.max_tokens = setup.speculation.fork_max_tokens;
  request.priority += kPriority;
  request.purpose = "fork";
  return request;
}

void SideGenerations::start(Request request, std::function<void(const Answer*)> done) {
  ++in_flight_;
  group_.spawn(run(std::move(request), std::move(done)));
}

Task<void> SideGenerations::run(Request request, std::function<void(const Answer*)> done) {
  auto answer = co_await ask(model_, std::move(request));
  --in_flight_;
  ended_.set();  // the iteration may wait for the last one
  done(answer ? &*answer : nullptr);
}

Event::Wait SideGenerations::next_end() {
  ended_.reset();
  return ended_.wait();
}

}  // namespace specgen
