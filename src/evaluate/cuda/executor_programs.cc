#include "evaluate/cuda/executor_programs.h"

#include <fmt/core.h>

#include <boost/json.hpp>

#include "base/json.h"
#include "evaluate/task/dtype.h"

namespace specgen {
namespace {

constexpr unsigned kPortableCluster = 8;
constexpr std::size_t kMaxParameters = 256;

std::size_t index_of(Who who) {
  return static_cast<std::size_t>(who);
}

// CUtensorMapDataType
int tensormap_type(Dtype dtype) {
  switch (dtype) {
    case Dtype::f64:
      return 8;
    case Dtype::f32:
      return 7;
    case Dtype::f16:
      return 6;
    case Dtype::bf16:
      return 9;
    case Dtype::i64:
      return 5;
    case Dtype::i32:
      return 3;
    case Dtype::u8:
      return 0;
  }
  return 0;
}

// CUtensorMapSwizzle
int tensormap_swizzle(int bytes) {
  return bytes == 32 ? 1 : bytes == 64 ? 2 : bytes == 128 ? 3 : 0;
}

Result<LaunchPlan> parse_plan(const std::string& text) {
  return launch_plan_from_json(TRY(parse_json(text)));
}

unsigned volume(const std::array<unsigned, 3>& size) {
  return size[0] * size[1] * size[2];
}

}  // namespace

ExecutorPrograms::Problem ExecutorPrograms::rejected(Who who, std::string reason) const {
  return {{.rejected = std::move(reason), .who = who}};
}

ExecutorPrograms::Problem ExecutorPrograms::fault(Who who, CuResult code, std::string doing) const {
  return {{.who = who,
           .fault = {.code = code,
                     .name = driver_.name(code),
                     .message = driver_.message(code),
                     .doing = std::move(doing)}}};
}

ExecutorPrograms::Problem ExecutorPrograms::broken(std::string what) const {
  return {{.broken = std::move(what)}};
}

ExecutorAnswer ExecutorPrograms::load(const std::array<std::string, 3>& cubins) {
  if (laid_out_) return broken("an executor runs only one candidate").answer;
  unload();
  // The driver finds the end of an image by reading it, so it must have the form of one.
  for (const std::string& cubin : cubins) {
    if (cubin.empty() && &cubin == &cubins[1]) continue;  // the baseline runs elsewhere
    if (cubin.size() < 64 || !cubin.starts_with("\x7f"
                                                "ELF")) {
      return broken("a program is no machine code").answer;
    }
  }
  if (CuResult code = driver_.module_load_data(&tools_, cubins[0].data())) {
    return broken("loading our own kernels: " + driver_.text(code)).answer;
  }
  for (Who who : {Who::baseline, Who::candidate}) {
    std::size_t i = index_of(who);
    if (cubins[i + 1].empty()) continue;
    if (CuResult code = driver_.module_load_data(&modules_[i], cubins[i + 1].data())) {
      return rejected(who, "the GPU does not load this program: " + driver_.text(code)).answer;
    }
  }
  return {.ok = true};
}

void ExecutorPrograms::unload() {
  for (CuModule* module : {&tools_, &modules_[0], &modules_[1]}) {
    // An error here was reported before; the new program is loaded anyway.
    if (*module) driver_.module_unload(*module);
    *module = nullptr;
  }
}

CuFunction ExecutorPrograms::tool(const char* name) const {
  CuFunction function = nullptr;
  if (!tools_ || driver_.module_get_function(&function, tools_, name) != kCudaOk) return nullptr;
  return function;
}

ExecutorPrograms::Prepared<CuFunction> ExecutorPrograms::function(Who who,
                                                                  const std::string& mangled,
                                                                  const PlannedLaunch& launch) {
  CuModule module = modules_[index_of(who)];
  if (!module) return std::unexpected(broken("no program is loaded"));
  const std::string& name = launch.name_expression;
  CuFunction found = nullptr;
  if (CuResult code = driver_.module_get_function(&found, module, mangled.c_str())) {
    return std::unexpected(rejected(
        who, fmt::format("kernel {} is not in the program: {}", name, driver_.text(code))));
  }
  int static_bytes = 0;
  // By default 48 KB minus static memory. Never lowered: another launch of the kernel may need
  // more.
  int allowed_bytes = 0;
  CuResult asked =
      driver_.func_get_attribute(&static_bytes, CuFunctionAttribute::static_shared_bytes, found);
  if (asked == kCudaOk) {
    asked = driver_.func_get_attribute(&allowed_bytes, CuFunctionAttribute::dynamic_shared_bytes,
                                       found);
  }
  if (asked != kCudaOk) return std::unexpected(fault(who, asked, "cuFuncGetAttribute of " + name));
  if (launch.shared_bytes > static_cast<unsigned>(std::max(allowed_bytes, 0))) {
    if (CuResult code = driver_.func_set_attribute(found, CuFunctionAttribute::dynamic_shared_bytes,
                                                   static_cast<int>(launch.shared_bytes))) {
      return std::unexpected(rejected(
          who, fmt::format("kernel {} cannot have {} bytes of dynamic shared memory besides its {} "
                           "bytes of static: {}",
                           name, launch.shared_bytes, static_bytes, driver_.text(code))));
    }
  }
  if (volume(launch.cluster) > kPortableCluster) {
    if (CuResult code =
            driver_.func_set_attribute(found, CuFunctionAttribute::non_portable_cluster, 1)) {
      return std::unexpected(
          rejected(who, fmt::format("kernel {} cannot have clusters of {} blocks: {}", name,
                                    volume(launch.cluster), driver_.text(code))));
    }
  }
  return found;
}

ExecutorPrograms::Prepared<std::vector<KernelParameter>> ExecutorPrograms::parameters(
    Who who, CuFunction function, const std::string& name) {
  std::vector<KernelParameter> all;
  while (true) {
    KernelParameter parameter;
    CuResult code =
        driver_.func_get_param_info(function, all.size(), &parameter.offset, &parameter.bytes);
    if (code == kCudaInvalidValue) return all;  // past the last one
    if (code != kCudaOk) {
      return std::unexpected(
          fault(who, code, fmt::format("cuFuncGetParamInfo {} of kernel {}", all.size(), name)));
    }
    if (all.size() == kMaxParameters) {
      return std::unexpected(rejected(who, "kernel " + name + " has too many parameters"));
    }
    all.push_back(parameter);
  }
}

ExecutorPrograms::Prepared<TensormapValue> ExecutorPrograms::tensormap(Who who,
                                                                       const PlannedTensormap& map,
                                                                       CuAddress address) {
  if (!driver_.tensor_map_encode) {
    return std::unexpected(rejected(who, "this driver does not support tensormaps"));
  }
  std::size_t rank = map.dimensions.size();
  if (rank == 0 || rank > 5 || map.box.size() != rank) {
    return std::unexpected(rejected(who, "a tensormap has one to five dimensions"));
  }
  std::vector<std::uint64_t> strides(rank, 0);  // rank - 1 of them, in bytes
  std::uint64_t stride = size_of(map.dtype);
  for (std::size_t i = 0; i + 1 < rank; ++i) strides[i] = stride *= map.dimensions[i];
  std::vector<std::uint32_t> steps(rank, 1);
  constexpr int kNoInterleave = 0, kPromoteTo128Bytes = 2, kZeroBeyondTheEnd = 0;
  CuTensorMap encoded;
  CuResult code = driver_.tensor_map_encode(
      &encoded, tensormap_type(map.dtype), static_cast<std::uint32_t>(rank),
      reinterpret_cast<void*>(address), map.dimensions.data(), strides.data(), map.box.data(),
      steps.data(), kNoInterleave, tensormap_swizzle(map.swizzle), kPromoteTo128Bytes,
      kZeroBeyondTheEnd);
  if (code != kCudaOk) {
    return std::unexpected(rejected(
        who, fmt::format("the driver refuses this tensormap: {} (rows must be a multiple of 16 "
                         "bytes, a box at most 256 long in each dimension and its inner one no "
                         "wider than the swizzle)",
                         driver_.text(code))));
  }
  return TensormapValue{encoded.opaque};
}

ExecutorPrograms::Prepared<PreparedCall> ExecutorPrograms::prepare(Who who, const LaunchPlan& plan,
                                                                   const LayOutRequest& request,
                                                                   std::size_t set,
                                                                   const ExecutorMemory& memory,
                                                                   CuStream stream) {
  const LayOutRequest::Program& program = *request.programs[index_of(who)];
  std::vector<Place> places = request.tensors[set];
  const std::vector<Place>& scratch = program.scratch[set];
  places.insert(places.end(), scratch.begin(), scratch.end());
  std::vector<CuAddress> addresses;
  for (const Place& place : places) {
    auto address = memory.address_of(place);
    if (!address) return std::unexpected(broken(address.error().summary()));
    addresses.push_back(*address);
  }
  PreparedCall call;
  for (std::size_t buffer : plan.zeroed_buffers) {
    if (buffer >= places.size()) return std::unexpected(broken("zeros for a missing buffer"));
    call.zeros.push_back({.address = addresses[buffer], .bytes = places[buffer].bytes});
  }
  std::vector<TensormapValue> maps;
  for (const PlannedTensormap& map : plan.tensormaps) {
    if (map.buffer >= addresses.size())
      return std::unexpected(broken("a tensormap of a missing buffer"));
    auto made = tensormap(who, map, addresses[map.buffer]);
    if (!made) return std::unexpected(std::move(made).error());
    maps.push_back(*made);
  }
  for (std::size_t k = 0; k < plan.launches.size(); ++k) {
    const PlannedLaunch& launch = plan.launches[k];
    auto at_launch = [&](Problem problem) {
      problem.answer.launch = static_cast<int>(k);
      return std::unexpected(std::move(problem));
    };
    auto found = function(who, program.functions[k], launch);
    if (!found) return at_launch(std::move(found).error());
    auto declared = parameters(who, *found, launch.name_expression);
    if (!declared) return at_launch(std::move(declared).error());
    std::vector<ParameterValue> values;
    for (const PlannedArgument& argument : launch.arguments) {
      using Kind = PlannedArgument::Kind;
      if (argument.kind == Kind::integer) values.emplace_back(argument.integer);
      if (argument.kind == Kind::real) values.emplace_back(argument.real);
      if (argument.kind == Kind::pointer) {
        if (argument.buffer >= addresses.size()) {
          return at_launch(broken("an argument of a missing buffer"));
        }
        values.emplace_back(
            AddressValue{addresses[argument.buffer] + static_cast<CuAddress>(argument.integer)});
      }
      if (argument.kind == Kind::tensormap) {
        if (argument.buffer >= maps.size())
          return at_launch(broken("an argument of a missing tensormap"));
        values.emplace_back(maps[argument.buffer]);
      }
    }
    auto packed = pack_parameters(launch.name_expression, *declared, values);
    if (!packed) return at_launch(rejected(who, packed.error()));

    PreparedLaunch& ready = call.launches.emplace_back();
    ready.name = launch.name_expression;
    ready.function = *found;
    ready.bytes = std::move(*packed);
    for (const KernelParameter& parameter : *declared) {
      ready.parameters.push_back(ready.bytes.data() + parameter.offset);
    }
    if (launch.cooperative) {
      ready.attributes.push_back({.id = kCuAttributeCooperative, .value = {.cooperative = 1}});
    }
    if (volume(launch.cluster) > 0) {
      auto [x, y, z] = launch.cluster;
      ready.attributes.push_back({.id = kCuAttributeCluster, .value = {.cluster = {x, y, z}}});
    }
    ready.config = {.grid = launch.grid,
                    .block = launch.block,
                    .shared_bytes = launch.shared_bytes,
                    .stream = stream,
                    .attributes = ready.attributes.data(),
                    .attribute_count = static_cast<unsigned>(ready.attributes.size())};
  }
  return call;
}

ExecutorAnswer ExecutorPrograms::lay_out(const LayOutRequest& request, const ExecutorMemory& memory,
                                         CuStream stream) {
  laid_out_ = true;
  clear();
  for (Who who : {Who::baseline, Who::candidate}) {
    const auto& program = request.programs[index_of(who)];
    if (!program) continue;  // it runs elsewhere
    auto plan = parse_plan(program->plan);
    if (!plan) return broken("a plan: " + plan.error().summary()).answer;
    if (program->functions.size() != plan->launches.size()) {
      return broken("a launch without a function").answer;
    }
    for (std::size_t set = 0; set < request.tensors.size(); ++set) {
      auto call = prepare(who, *plan, request, set, memory, stream);
      if (!call) return std::move(call.error().answer);
      calls_[index_of(who)].push_back(std::move(*call));
    }
  }
  return {.ok = true};
}

ExecutorAnswer ExecutorPrograms::describe(const DescribeRequest& request) {
  auto plan = parse_plan(request.plan);
  if (!plan) return broken("a plan: " + plan.error().summary()).answer;
  if (request.functions.size() != plan->launches.size()) {
    return broken("a launch without a function").answer;
  }
  ExecutorAnswer answer{.ok = true, .who = request.who};
  for (std::size_t k = 0; k < plan->launches.size(); ++k) {
    const PlannedLaunch& launch = plan->launches[k];
    auto found = function(request.who, request.functions[k], launch);
    if (!found) return std::move(found.error().answer);
    KernelDescription kernel{.function = launch.name_expression};
    using A = CuFunctionAttribute;
    const std::pair<A, int*> asked[] = {{A::registers, &kernel.registers},
                                        {A::static_shared_bytes, &kernel.static_shared_bytes},
                                        {A::local_bytes, &kernel.local_bytes},
                                        {A::threads_per_block, &kernel.max_threads}};
    for (auto [attribute, into] : asked) {
      if (CuResult code = driver_.func_get_attribute(into, attribute, *found)) {
        return fault(request.who, code, "cuFuncGetAttribute of " + kernel.function).answer;
      }
    }
    if (CuResult code =
            driver_.occupancy(&kernel.blocks_per_multiprocessor, *found,
                              static_cast<int>(volume(launch.block)), launch.shared_bytes)) {
      return fault(request.who, code, "the occupancy of " + kernel.function).answer;
    }
    answer.kernels.push_back(std::move(kernel));
  }
  return answer;
}

void ExecutorPrograms::clear() {
  for (auto& calls : calls_) calls.clear();
}

const PreparedCall* ExecutorPrograms::call(Who who, std::size_t set) const {
  const auto& calls = calls_[index_of(who)];
  return set < calls.size() ? &calls[set] : nullptr;
}

}  // namespace specgen
