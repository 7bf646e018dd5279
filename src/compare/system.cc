#include "compare/system.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/text.h"

namespace specgen {
namespace {

System peer(std::string name) {
  return {.name = name, .workflow = name};
}

System all_on(std::string name, std::string workflow) {
  return {.name = std::move(name),
          .workflow = std::move(workflow),
          .harvest = true,
          .forks = true,
          .early_stop = true,
          .pool = PoolForm::elastic};
}

std::vector<System> make_systems() {
  std::vector<System> all{peer("cudaforge"), peer("alphaevolve"), peer("kernelagent"),
                          peer("dispatch2")};
  all.back().max_streams = 2;
  all.back().generations = 2;
  all.push_back(all_on("specgen", "refine"));
  all.push_back(all_on("specgen-split", "refine"));
  all.back().pool = PoolForm::split;
  all.push_back(all_on("specgen-noharvest", "refine"));
  all.back().harvest = false;
  all.push_back(all_on("specgen-noforks", "refine"));
  all.back().forks = false;
  all.push_back(all_on("specgen-nostop", "refine"));
  all.back().early_stop = false;
  all.push_back({.name = "specgen-off", .workflow = "refine", .pool = PoolForm::elastic});
  for (const char* workflow : {"cudaforge", "alphaevolve", "kernelagent"}) {
    all.push_back(all_on(fmt::format("{}+spec", workflow), workflow));
  }
  return all;
}

}  // namespace

const std::vector<System>& systems() {
  static const std::vector<System> all = make_systems();
  return all;
}

std::vector<std::string> system_names() {
  std::vector<std::string> names;
  for (const System& system : systems()) names.push_back(system.name);
  return names;
}

Result<std::vector<System>> find_systems(std::string_view names_with_commas) {
  std::vector<System> chosen;
  for (std::string_view word : split(names_with_commas, ',')) {
    std::string_view name = trim(word);
    auto found = std::ranges::find(systems(), name, &System::name);
    if (found == systems().end()) {
      std::vector<std::string> names = system_names();
      return fail(
          ErrorCode::unknown_name,
          fmt::format("there is no system '{}'{}", name.substr(0, 64), did_you_mean(name, names)),
          "systems are " + join(names, ", "));
    }
    if (std::ranges::find(chosen, name, &System::name) == chosen.end()) chosen.push_back(*found);
  }
  return chosen;
}

}  // namespace specgen
