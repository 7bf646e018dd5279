#include "schedule/role_policy.h"

#include <algorithm>

namespace specgen {

bool worth_switching(const RoleQuestion& question) {
  const RoleDemand& from = question.from;
  const RoleDemand& to = question.to;
  if (to.queued_seconds <= 0) return false;
  if (to.devices == 0) return from.queued_seconds <= 0 || from.devices > 1;
  double wait_there = to.queued_seconds / static_cast<double>(to.devices);
  double wait_here =
      from.queued_seconds / static_cast<double>(std::max<std::size_t>(1, from.devices));
  return wait_there > wait_here + question.cost;
}

}  // namespace specgen
