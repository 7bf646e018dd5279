#include "schedule/pool_form.h"

#include <array>
#include <string>
#include <vector>

#include "base/assert.h"
#include "base/text.h"

namespace specgen {
namespace {

constexpr std::array kForms{PoolForm::per_task, PoolForm::split, PoolForm::elastic};

}  // namespace

std::string_view to_string(PoolForm form) {
  switch (form) {
    case PoolForm::per_task:
      return "per-task";
    case PoolForm::split:
      return "split";
    case PoolForm::elastic:
      return "elastic";
  }
  SG_PANIC("a PoolForm without a name");
}

Result<PoolForm> parse_pool_form(std::string_view name) {
  std::vector<std::string> names;
  for (PoolForm form : kForms) {
    if (to_string(form) == name) return form;
    names.emplace_back(to_string(form));
  }
  return fail(
      ErrorCode::unknown_name,
      "unknown pool form '" + std::string(name.substr(0, 64)) + "'" + did_you_mean(name, names),
      "choose from " + join(names, ", "));
}

std::string_view to_string(Role role) {
  switch (role) {
    case Role::any:
      return "any";
    case Role::validating:
      return "validating";
    case Role::profiling:
      return "profiling";
  }
  SG_PANIC("a Role without a name");
}

}  // namespace specgen
