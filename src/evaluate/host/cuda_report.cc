#include "evaluate/host/cuda_report.h"

#include <fmt/core.h>

#include <boost/json.hpp>

#include "base/environment.h"
#include "base/file.h"
#include "evaluate/host/internal_probe.h"

namespace specgen {
namespace {

Component& component(CudaReport& report, std::string_view what) {
  if (what == "driver") return report.driver;
  if (what == "nvrtc") return report.nvrtc;
  if (what == "nvml") return report.nvml;
  SG_ASSERT(what == "cupti", "there is no such library");
  return report.cupti;
}

template <class T>
T number_of(const Json& value, std::string_view key) {
  const auto* object = value.if_object();
  const Json* member = object ? object->if_contains(key) : nullptr;
  boost::json::error_code error;
  T number = member && member->is_number() ? member->to_number<T>(error) : T{};
  return error ? T{} : number;
}

}  // namespace

Json to_json(const Gpu& gpu) {
  return boost::json::object{
      {"index", gpu.index},
      {"name", gpu.name},
      {"compute_capability", fmt::format("{}.{}", gpu.capability_major, gpu.capability_minor)},
      {"architecture", gpu.architecture()},
      {"memory_bytes", gpu.memory.count},
      {"multiprocessors", gpu.multiprocessors}};
}

Json to_json(const CudaReport& report) {
  boost::json::array gpus;
  for (const Gpu& gpu : report.gpus) gpus.push_back(to_json(gpu));
  boost::json::array architectures(report.architectures.begin(), report.architectures.end());
  return boost::json::object{{"driver", to_json(report.driver)}, {"gpus", std::move(gpus)},
                             {"nvrtc", to_json(report.nvrtc)},   {"architectures", architectures},
                             {"nvml", to_json(report.nvml)},     {"cupti", to_json(report.cupti)}};
}

CudaReport cuda_report_from_json(const Json& value) {
  CudaReport report;
  const auto* object = value.if_object();
  if (!object) return report;
  for (std::string_view what : {"driver", "nvrtc", "nvml", "cupti"}) {
    if (const Json* member = object->if_contains(what)) {
      component(report, what) = component_from_json(*member);
    }
  }
  if (const Json* gpus = object->if_contains("gpus"); gpus && gpus->is_array()) {
    for (const Json& item : gpus->get_array()) {
      int architecture = number_of<int>(item, "architecture");
      report.gpus.push_back({.index = number_of<int>(item, "index"),
                             .name = text_at(item, "name"),
                             .capability_major = architecture / 10,
                             .capability_minor = architecture % 10,
                             .memory = Bytes{number_of<std::uint64_t>(item, "memory_bytes")},
                             .multiprocessors = number_of<int>(item, "multiprocessors")});
    }
  }
  if (const Json* all = object->if_contains("architectures"); all && all->is_array()) {
    for (const Json& item : all->get_array()) {
      if (item.is_int64()) report.architectures.push_back(static_cast<int>(item.get_int64()));
    }
  }
  return report;
}

Task<void> probe_cuda_library(Processes& processes, std::vector<std::string> self, std::string what,
                              Duration limit, CudaReport& into) {
  auto answer = co_await ask_internal_probe(processes, std::move(self), what, limit);
  Component& probed = component(into, what);
  if (!answer) {
    probed.found = true;  // something was there to hang or crash
    probed.problem = answer.error().context;
    co_return;
  }
  CudaReport answered = cuda_report_from_json(*answer);
  probed = std::move(component(answered, what));
  if (what == "driver") into.gpus = std::move(answered.gpus);
  if (what == "nvrtc") into.architectures = std::move(answered.architectures);
}

void look_for_nvidia_driver(CudaReport& into) {
  if (auto text = read_file("/proc/driver/nvidia/version")) {
    into.kernel_driver = kernel_driver_version(*text);
  }
  into.visible_devices = environment_variable("CUDA_VISIBLE_DEVICES");
  into.gpu_on_bus = nvidia_gpu_on_bus();
}

}  // namespace specgen
