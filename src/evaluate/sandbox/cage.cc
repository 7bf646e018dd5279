#include "evaluate/sandbox/cage.h"

namespace specgen {

Cage::Cage() = default;
Cage::Cage(Cage&&) noexcept = default;

Cage& Cage::operator=(Cage&& other) noexcept {
  if (this != &other) {
    Cage old(std::move(*this));
    group_ = std::move(other.group_);
  }
  return *this;
}

Cage::~Cage() {
  if (!group_) return;
  if (group_->kill_by_uid && group_->uid) group_->uid->kill_all();
  group_->control.reset();  // its processes first: the uid and the folder are free after them
}

bool Cage::killed_for_memory() const {
  return group_ && group_->control && group_->control->killed_for_memory() > 0;
}

}  // namespace specgen
