#include "schedule/verdict_memory.h"

namespace specgen {
namespace {

std::size_t size_of(const std::string& key, const Judged& judged) {
  return 2 * key.size() + sizeof(Judged) + judged.evaluation.size() + judged.feedback.size() +
         judged.evidence.text.size();
}

}  // namespace

bool VerdictMemory::is_worth_keeping(const Judged& judged) {
  return !judged.withdrawn && judged.verdict != Verdict::harness_error &&
         judged.verdict != Verdict::unstable_timing;
}

void VerdictMemory::remember(const std::string& key, const Judged& judged) {
  if (!is_worth_keeping(judged) || max_verdicts_ == 0) return;
  auto [place, is_new] = verdicts_.try_emplace(key);
  if (is_new) {
    order_.push_back(key);
  } else {
    bytes_ -= size_of(key, place->second);
  }
  place->second = judged;
  place->second.spans.clear();  // of work that was done for another
  bytes_ += size_of(key, place->second);
  while (verdicts_.size() > max_verdicts_ || bytes_ > max_bytes_) forget_oldest();
}

void VerdictMemory::forget_oldest() {
  auto oldest = verdicts_.find(order_.front());
  bytes_ -= size_of(oldest->first, oldest->second);
  verdicts_.erase(oldest);
  order_.pop_front();
}

const Judged* VerdictMemory::find(const std::string& key) const {
  auto found = verdicts_.find(key);
  return found == verdicts_.end() ? nullptr : &found->second;
}

}  // namespace specgen
