#include "evaluate/sandbox/sandbox_resources.h"

namespace specgen {

SandboxResources::SandboxResources() = default;
SandboxResources::SandboxResources(SandboxResources&&) noexcept = default;

SandboxResources& SandboxResources::operator=(SandboxResources&& other) noexcept {
  if (this != &other) {
    SandboxResources old(std::move(*this));
    held_ = std::move(other.held_);
  }
  return *this;
}

SandboxResources::~SandboxResources() {
  if (!held_) return;
  if (held_->kill_by_uid && held_->uid) held_->uid->kill_all();
  held_->group.reset();  // kills its processes, which still use the uid and the folder
}

bool SandboxResources::killed_for_memory() const {
  return held_ && held_->group && held_->group->killed_for_memory() > 0;
}

}  // namespace specgen
