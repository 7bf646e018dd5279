#include "evaluate/node/device_list.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/text.h"
#include "evaluate/cpu/cpu_device.h"

namespace specgen {
namespace {

constexpr std::size_t kMaxDevices = 1024;

bool is_number(std::string_view text) {
  constexpr std::size_t kMaxDigits = 6;
  return !text.empty() && text.size() <= kMaxDigits &&
         text.find_first_not_of("0123456789") == std::string_view::npos;
}

bool is_device_name(std::string_view word) {
  const std::size_t colon = word.find(':');
  if (colon == std::string_view::npos) return false;
  std::string_view kind = word.substr(0, colon), which = word.substr(colon + 1);
  if (kind == "cuda") return is_number(which);
  const std::size_t dash = which.find('-');
  return kind == "cpu" && is_number(which.substr(0, dash)) &&
         (dash == std::string_view::npos || is_number(which.substr(dash + 1)));
}

bool is_cpu(std::string_view id) {
  return id.starts_with("cpu:");
}

// A timing on a shared core is worthless.
Result<void> check_cores(const std::vector<NodeDevice>& devices, const std::vector<int>& cores) {
  std::map<int, std::string> owner;
  for (const NodeDevice& device : devices) {
    if (!is_cpu(device.id)) continue;
    for (int core : TRY(cores_of_device(device.id, cores))) {
      auto [known, is_free] = owner.try_emplace(core, device.id);
      if (is_free) continue;
      return fail(ErrorCode::bad_usage,
                  fmt::format("'{}' and '{}' share core {}", known->second, device.id, core),
                  "give every device cores of its own, such as cpu:1-3,cpu:4-6");
    }
  }
  return {};
}

}  // namespace

Result<std::vector<std::string>> parse_device_list(std::string_view text) {
  if (trim(text) == "auto") return std::vector<std::string>{};
  std::vector<std::string> names;
  for (std::string_view word : split(text, ',')) {
    word = trim(word);
    if (!is_device_name(word)) {
      return fail(ErrorCode::bad_usage, fmt::format("'{}' is not a device", word),
                  "write auto, or a list such as cpu:0,cuda:1 or cpu:1-3,cpu:4-6");
    }
    if (std::ranges::find(names, word) != names.end()) {
      return fail(ErrorCode::bad_usage, fmt::format("device '{}' is named twice", word));
    }
    names.emplace_back(word);
  }
  if (names.size() > kMaxDevices) {
    return fail(ErrorCode::bad_usage,
                fmt::format("{} devices; the limit is {}", names.size(), kMaxDevices));
  }
  return names;
}

std::vector<NodeDevice> usable_devices(const HostReport& host) {
  std::vector<NodeDevice> all;
  Ready can = ready(host);
  if (can.cpu) all.push_back({"cpu:0", host.machine.cpu});
  for (const Gpu& gpu : host.cuda.gpus) {
    if (can.cuda && compiles_for(host.cuda, gpu)) {
      all.push_back({fmt::format("cuda:{}", gpu.index), gpu.name});
    }
  }
  return all;
}

Result<std::vector<NodeDevice>> choose_devices(const HostReport& host,
                                               const std::vector<std::string>& names,
                                               const std::vector<int>& cores) {
  const std::vector<NodeDevice> all = usable_devices(host);
  if (all.empty()) return fail(ErrorCode::device_missing, "no device of this host is usable");
  if (names.empty()) return all;
  std::vector<std::string> known;
  for (const NodeDevice& device : all) known.push_back(device.id);
  std::vector<NodeDevice> chosen;
  for (const std::string& name : names) {
    auto found = std::ranges::find(all, name, &NodeDevice::id);
    if (found != all.end()) {
      chosen.push_back(*found);
    } else if (is_cpu(name) && ready(host).cpu) {
      TRY(cores_of_device(name, cores));
      chosen.push_back({name, host.machine.cpu});
    } else {
      return fail(ErrorCode::device_missing,
                  fmt::format("'{}' is not usable here{}", name, did_you_mean(name, known)));
    }
  }
  TRY(check_cores(chosen, cores));
  return chosen;
}

std::vector<int> cores_of_devices(const std::vector<NodeDevice>& devices,
                                  const std::vector<int>& cores) {
  std::vector<int> taken;
  for (const NodeDevice& device : devices) {
    if (!is_cpu(device.id)) continue;
    auto own = cores_of_device(device.id, cores);
    if (own) taken.insert(taken.end(), own->begin(), own->end());
  }
  return taken;
}

}  // namespace specgen
