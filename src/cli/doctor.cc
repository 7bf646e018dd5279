#include "cli/doctor.h"

#include <fmt/core.h>

#include <algorithm>
#include <boost/json.hpp>

#include "cli/host_json.h"
#include "cli/version.h"

namespace specgen {
namespace {

constexpr std::string_view kBold = "1";
constexpr std::string_view kDim = "2";
constexpr std::string_view kRed = "31";
constexpr std::string_view kGreen = "32";
constexpr std::string_view kYellow = "33";

std::string painted(std::string_view text, std::string_view style, bool colour) {
  if (!colour) return std::string(text);
  return fmt::format("\x1b[{}m{}\x1b[0m", style, text);
}

std::string mark(CheckState state, bool colour) {
  switch (state) {
    case CheckState::ok:
      return painted("✓", kGreen, colour);
    case CheckState::limited:
      return painted("!", kYellow, colour);
    case CheckState::missing:
      break;
  }
  return painted("✗", kRed, colour);
}

// A tool's own words can fill a screen; the whole of them is in the JSON.
std::string shortened(std::string_view detail) {
  constexpr std::size_t kMax = 120;
  if (detail.size() <= kMax) return std::string(detail);
  std::size_t cut = detail.rfind(' ', kMax - 1);
  return std::string(detail.substr(0, cut == std::string_view::npos ? kMax : cut)) + " …";
}

boost::json::object document(std::string_view schema, const Diagnosis& diagnosis) {
  return {{"schema", schema},
          {"schema_version", 1},
          {"specgen_version", version()},
          {"ready", ready_json(diagnosis.host)},
          {"verdict", verdict(diagnosis.host)},
          {"sandbox", sandbox_json(diagnosis.host.sandbox)}};
}

boost::json::array devices(const HostReport& host) {
  boost::json::array all;
  Ready can = ready(host);
  all.push_back(boost::json::object{{"id", "cpu:0"},
                                    {"kind", "cpu"},
                                    {"name", host.machine.cpu},
                                    {"usable", can.cpu},
                                    {"cores", host.machine.cores}});
  for (const Gpu& gpu : host.cuda.gpus) {
    boost::json::object device{{"id", fmt::format("cuda:{}", gpu.index)}, {"kind", "cuda"}};
    device["name"] = gpu.name;
    device["usable"] = can.cuda && compiles_for(host.cuda, gpu);
    device["compute_capability"] = fmt::format("{}.{}", gpu.capability_major, gpu.capability_minor);
    device["memory_bytes"] = gpu.memory.count;
    device["multiprocessors"] = gpu.multiprocessors;
    all.push_back(std::move(device));
  }
  return all;
}

}  // namespace

std::string doctor_text(const Diagnosis& diagnosis, bool colour) {
  std::size_t width = 0;
  for (const Check& check : diagnosis.checks) width = std::max(width, check.name.size());
  std::string text;
  std::string_view group;
  for (const Check& check : diagnosis.checks) {
    if (check.group != group) {
      if (!group.empty()) text += '\n';
      group = check.group;
      text += painted(group_title(group), kBold, colour) + '\n';
    }
    std::string purpose = painted("· for " + check.purpose, kDim, colour);
    text += fmt::format("  {} {:<{}}  {} {}\n", mark(check.state, colour), check.name, width,
                        shortened(check.detail), purpose);
    if (!check.fix.empty()) {
      text += fmt::format("    {:<{}}  fix: {}\n", "", width, painted(check.fix, kBold, colour));
    }
  }
  if (!diagnosis.settings.empty()) text += fmt::format("\nsettings: {}\n", diagnosis.settings);
  text += '\n' + painted(verdict(diagnosis.host), kBold, colour) + '\n';
  return text;
}

std::string doctor_json(const Diagnosis& diagnosis) {
  boost::json::object json = document("specgen.doctor", diagnosis);
  json["settings"] = nullptr;
  if (!diagnosis.settings.empty()) json["settings"] = diagnosis.settings;
  json["machine"] = machine_json(diagnosis.host.machine);
  json["runs"] = runs_json(diagnosis.host.machine);
  json["gpus"] = gpus_json(diagnosis.host.cuda);
  json["components"] = components_json(diagnosis.host);
  json["checks"] = checks_json(diagnosis.checks);
  return pretty_json(json);
}

std::string node_check_json(const Diagnosis& diagnosis) {
  const HostReport& host = diagnosis.host;
  boost::json::object json = document("specgen.node-check", diagnosis);
  json["machine"] = machine_json(host.machine);
  json["devices"] = devices(host);
  boost::json::object nvrtc = to_json(host.cuda.nvrtc).get_object();
  nvrtc["architectures"] =
      boost::json::array(host.cuda.architectures.begin(), host.cuda.architectures.end());
  json["nvrtc"] = std::move(nvrtc);
  json["components"] = components_json(host);
  json["checks"] = checks_json(diagnosis.checks);
  return pretty_json(json);
}

ExitCode doctor_exit_code(const HostReport& host) {
  return ready(host).any() ? ExitCode::done : ExitCode::environment;
}

}  // namespace specgen
