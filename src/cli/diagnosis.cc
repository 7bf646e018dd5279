#include "cli/diagnosis.h"

#include <fmt/core.h>

#include <algorithm>
#include <boost/json.hpp>
#include <span>

#include "base/json.h"
#include "base/text.h"
#include "cli/command_loop.h"
#include "cli/terminal.h"
#include "cli/version.h"
#include "evaluate/host/cuda_report.h"

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

// A tool's own message can fill a screen; all of it is in the JSON.
std::string shortened(std::string_view detail) {
  constexpr std::size_t kMax = 120;
  if (detail.size() <= kMax) return std::string(detail);
  std::size_t cut = detail.rfind(' ', kMax - 1);
  return std::string(detail.substr(0, cut == std::string_view::npos ? kMax : cut)) + " …";
}

Json ready_json(const HostReport& host) {
  Ready can = ready(host);
  return boost::json::object{{"cpu", can.cpu}, {"cuda", can.cuda}, {"pytorch", can.pytorch}};
}

Json sandbox_json(const SandboxFeatures& sandbox) {
  Json cgroup = nullptr;
  if (sandbox.cgroups.cgroup.works) cgroup = sandbox.cgroups.cgroup.version;
  Json landlock = nullptr;
  if (sandbox.landlock.works) landlock = std::stoi(sandbox.landlock.version);
  return boost::json::object{{"level_possible", to_string(level_possible(sandbox))},
                             {"bubblewrap", sandbox.bubblewrap.works},
                             {"user_namespaces", sandbox.user_namespaces.works},
                             {"seccomp", sandbox.seccomp.works},
                             {"cgroup", cgroup},
                             {"own_uid", sandbox.own_uid.works},
                             {"landlock_abi", landlock}};
}

Json gpus_json(const CudaReport& cuda) {
  boost::json::array gpus;
  for (const Gpu& gpu : cuda.gpus) gpus.push_back(to_json(gpu));
  return gpus;
}

Json machine_json(const Machine& machine) {
  return boost::json::object{{"cpu", machine.cpu},
                             {"cores", machine.cores},
                             {"memory_bytes", machine.memory.count},
                             {"memory_available_bytes", machine.memory_available.count}};
}

Json runs_json(const Machine& machine) {
  return boost::json::object{{"folder", machine.runs_folder.string()},
                             {"writable", machine.disk_problem.empty()},
                             {"disk_free_bytes", machine.disk_free.count}};
}

Json components_json(const HostReport& host) {
  boost::json::array all;
  for (const Component& compiler : host.tools.compilers) all.push_back(to_json(compiler));
  for (const Component* each :
       {&host.cuda.driver, &host.cuda.nvrtc, &host.cuda.nvml, &host.cuda.cupti, &host.tools.nvcc,
        &host.tools.ncu, &host.tools.compute_sanitizer, &host.tools.python, &host.tools.torch,
        &host.tools.triton, &host.sandbox.bubblewrap}) {
    all.push_back(to_json(*each));
  }
  return all;
}

Json checks_json(std::span<const Check> checks) {
  boost::json::array all;
  for (const Check& check : checks) {
    all.push_back(boost::json::object{{"id", check.id},
                                      {"group", check.group},
                                      {"name", check.name},
                                      {"state", to_string(check.state)},
                                      {"detail", check.detail},
                                      {"purpose", check.purpose},
                                      {"fix", check.fix}});
  }
  return all;
}

boost::json::object document(std::string_view schema, const Diagnosis& diagnosis) {
  return {{"schema", schema},
          {"schema_version", 1},
          {"specgen_version", version()},
          {"ready", ready_json(diagnosis.host)},
          {"verdict", verdict(diagnosis.host)},
          {"sandbox", sandbox_json(diagnosis.host.sandbox)}};
}

std::function<void(std::span<const std::string>, std::size_t)> progress_reporter(
    ProgressLine& line) {
  return [&line](std::span<const std::string> pending, std::size_t total) {
    if (pending.empty()) return line.show({});
    line.show(fmt::format("checking this host: {} of {}, waiting for {}", total - pending.size(),
                          total,
                          join(pending.first(std::min<std::size_t>(pending.size(), 2)), ", ")));
  };
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

Result<HostReport> inspect_host(HostProbe probe) {
  ProgressLine line;
  probe.on_progress = progress_reporter(line);
  return run_on_loop<HostReport>([&](CommandLoop& command) {
    return probe_host(command.loop, command.processes, std::move(probe));
  });
}

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
