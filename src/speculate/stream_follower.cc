#include "speculate/stream_follower.h"

#include <utility>

namespace specgen {

StreamFollower::StreamFollower(std::string backend, bool harvest, Triggers* triggers) {
  if (harvest) harvester_.emplace(std::move(backend));
  if (triggers) scanner_.emplace(*triggers);
}

StreamFindings& StreamFollower::follow(const Delta& delta) {
  findings_.drafts.clear();
  findings_.has_repeated_draft = false;
  findings_.triggers.clear();
  if (delta.kind == DeltaKind::content) {
    answer_ += delta.text;
    return findings_;
  }
  trace_.add(delta);
  if (harvester_) {
    std::uint64_t repeated = harvester_->repeated();
    harvester_->feed(delta.text, findings_.drafts);
    findings_.has_repeated_draft = harvester_->repeated() > repeated;
  }
  if (scanner_) scanner_->feed(delta.text, findings_.triggers);
  return findings_;
}

StreamFindings& StreamFollower::finish() {
  findings_ = {};
  if (harvester_) harvester_->finish(findings_.drafts);
  return findings_;
}

std::int64_t StreamFollower::tokens_before(std::size_t offset) const {
  std::size_t bytes = trace_.text().size();
  if (offset >= bytes) return trace_.tokens();
  double share = static_cast<double>(offset) / static_cast<double>(bytes);
  return static_cast<std::int64_t>(share * static_cast<double>(trace_.tokens()));
}

}  // namespace specgen
