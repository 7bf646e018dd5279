#include "kvcache/eviction_order.h"

#include <algorithm>

#include "base/assert.h"

namespace specgen {
namespace {

// Used if the rates of the LLM server are unknown; only the ratio between values matters.
constexpr double kUsualBytesPerToken = 131'072;
constexpr double kUsualTokensPerSecond = 10'000;
// With this many tokens before it, attention doubles the cost of a token (8B to 70B models: 20k to 40k).
constexpr double kTokensThatDouble = 32'768;
constexpr std::uint32_t kMaxVotes = 8;

}  // namespace

double RecomputeCost::seconds_per_mib(std::uint64_t bytes, std::uint32_t depth) const {
  const double token = bytes_per_token > 0 ? bytes_per_token : kUsualBytesPerToken;
  const double rate = prefill_tokens_per_s > 0 ? prefill_tokens_per_s : kUsualTokensPerSecond;
  const double tokens_before = static_cast<double>(depth) * static_cast<double>(bytes) / token;
  return (1 << 20) / token / rate * (1 + tokens_before / kTokensThatDouble);
}

EvictionOrder::Node* EvictionOrder::find(Id id) {
  auto found = nodes_.find(id);
  return found == nodes_.end() ? nullptr : &found->second;
}

EvictionOrder::Rank EvictionOrder::rank_of(Id id, const Node& node) const {
  return {node.task->second.pinned_until.has_value(), node.worth, node.last_use, id};
}

void EvictionOrder::offer(Id id, Node& node) {
  const std::uint32_t needed_by = node.place == kHost ? node.children_on_host : node.children;
  if (node.is_offered || node.held > 0 || needed_by > 0) return;
  offered_[node.place].insert(rank_of(id, node));
  if (!node.task->first.empty()) node.task->second.offered.insert(rank_of(id, node));
  node.is_offered = true;
}

void EvictionOrder::withdraw(Id id, Node& node) {
  if (!node.is_offered) return;
  offered_[node.place].erase(rank_of(id, node));
  if (!node.task->first.empty()) node.task->second.offered.erase(rank_of(id, node));
  node.is_offered = false;
}

void EvictionOrder::weigh(Id id, Node& node) {
  withdraw(id, node);
  const bool is_in_chain = node.depth > 0 || node.children > 0;
  const double uses = is_in_chain ? static_cast<double>(node.uses) : 1;
  node.worth = clock_ + uses * cost_.seconds_per_mib(node.bytes, node.depth);
  offer(id, node);
}

void EvictionOrder::add(Id id, std::uint64_t bytes, std::string_view task) {
  auto fellows = tasks_.find(task);
  if (fellows == tasks_.end()) fellows = tasks_.emplace(task, TaskValues{}).first;
  auto [at, is_new] =
      nodes_.emplace(id, Node{.task = fellows, .bytes = bytes, .last_use = ++ticks_});
  SG_ASSERT(is_new, "id added twice");
  fellows->second.members.insert(id);
  fellows->second.bytes += bytes;
  weigh(id, at->second);
}

void EvictionOrder::grow(Id id, std::uint64_t more_bytes) {
  Node* node = find(id);
  SG_ASSERT(node, "grow() of an absent value");
  node->bytes += more_bytes;
  node->task->second.bytes += more_bytes;
  weigh(id, *node);
}

void EvictionOrder::use(Id id) {
  Node* node = find(id);
  if (!node) return;
  withdraw(id, *node);
  ++node->uses;
  node->last_use = ++ticks_;
  weigh(id, *node);
}

void EvictionOrder::follow(Id id, Id parent_id) {
  Node* node = find(id);
  Node* parent = find(parent_id);
  // A parent is older than its child, which also rules out cycles.
  if (!node || !parent || parent_id >= id) return;
  if (node->parent == parent_id) {
    node->votes = std::min(node->votes + 1, kMaxVotes);
    return;
  }
  if (find(node->parent) && node->votes > 1) {
    --node->votes;
    return;
  }
  const int on_host = node->place == kHost ? 1 : 0;
  add_child(node->parent, -1, -on_host);
  add_child(parent_id, 1, on_host);
  node->parent = parent_id;
  node->votes = 1;
  node->depth = parent->depth + 1;
  weigh(id, *node);
}

void EvictionOrder::add_child(Id parent_id, int count, int on_host) {
  Node* parent = find(parent_id);
  if (!parent) return;
  withdraw(parent_id, *parent);
  parent->children += static_cast<std::uint32_t>(count);
  parent->children_on_host += static_cast<std::uint32_t>(on_host);
  offer(parent_id, *parent);
}

void EvictionOrder::move(Id id, Place to) {
  Node* node = find(id);
  SG_ASSERT(node && to < kMaxPlaces, "move() of an absent value or to an invalid place");
  withdraw(id, *node);
  add_child(node->parent, 0, (to == kHost ? 1 : 0) - (node->place == kHost ? 1 : 0));
  node->place = to;
  offer(id, *node);
}

void EvictionOrder::remove(Id id) {
  auto found = nodes_.find(id);
  if (found == nodes_.end()) return;
  Node& node = found->second;
  withdraw(id, node);
  add_child(node.parent, -1, node.place == kHost ? -1 : 0);
  auto task = node.task;
  task->second.members.erase(id);
  task->second.bytes -= node.bytes;
  nodes_.erase(found);
  forget_if_empty(task);
}

void EvictionOrder::evict(Id id) {
  if (Node* node = find(id)) clock_ = std::max(clock_, node->worth);
  remove(id);
}

void EvictionOrder::hold(Id id) {
  Node* node = find(id);
  SG_ASSERT(node, "hold() of an absent value");
  withdraw(id, *node);
  ++node->held;
}

void EvictionOrder::release(Id id) {
  Node* node = find(id);
  if (!node) return;
  SG_ASSERT(node->held > 0, "release() without hold()");
  --node->held;
  offer(id, *node);
}

std::optional<EvictionOrder::Id> EvictionOrder::first(Place place) const {
  const std::set<Rank>& offered = offered_.at(place);
  if (offered.empty()) return std::nullopt;
  return std::get<3>(*offered.begin());
}

std::optional<EvictionOrder::Id> EvictionOrder::first_of(std::string_view task) const {
  auto found = tasks_.find(task);
  if (found == tasks_.end() || found->second.offered.empty()) return std::nullopt;
  return std::get<3>(*found->second.offered.begin());
}

bool EvictionOrder::is_offered(Id id) const {
  auto found = nodes_.find(id);
  return found != nodes_.end() && found->second.is_offered;
}

double EvictionOrder::worth_of(Id id) const {
  auto found = nodes_.find(id);
  return found == nodes_.end() ? 0 : found->second.worth;
}

std::uint64_t EvictionOrder::bytes_of(std::string_view task) const {
  auto found = tasks_.find(task);
  return found == tasks_.end() ? 0 : found->second.bytes;
}

std::vector<EvictionOrder::Id> EvictionOrder::all_of(std::string_view task) const {
  auto found = tasks_.find(task);
  if (found == tasks_.end()) return {};
  return {found->second.members.begin(), found->second.members.end()};
}

void EvictionOrder::pin(std::string_view task, Time until) {
  auto found = tasks_.find(task);
  if (found == tasks_.end()) found = tasks_.emplace(task, TaskValues{}).first;
  repin(found, until);
}

void EvictionOrder::unpin(std::string_view task) {
  auto found = tasks_.find(task);
  if (found == tasks_.end()) return;
  repin(found, std::nullopt);
  forget_if_empty(found);
}

void EvictionOrder::expire_pins(Time now) {
  while (!pins_.empty() && pins_.begin()->first <= now) {
    unpin(std::string(pins_.begin()->second));
  }
}

void EvictionOrder::repin(Tasks::iterator task, std::optional<Time> until) {
  TaskValues& fellows = task->second;
  if (fellows.pinned_until) pins_.erase({*fellows.pinned_until, task->first});
  if (until) pins_.emplace(*until, task->first);
  if (until.has_value() == fellows.pinned_until.has_value()) {
    fellows.pinned_until = until;
    return;
  }
  for (Id id : fellows.members) withdraw(id, *find(id));
  fellows.pinned_until = until;
  for (Id id : fellows.members) offer(id, *find(id));
}

void EvictionOrder::forget_if_empty(Tasks::iterator task) {
  if (task->second.members.empty() && !task->second.pinned_until) tasks_.erase(task);
}

}  // namespace specgen
