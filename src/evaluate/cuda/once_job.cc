#include <fmt/core.h>

#include <boost/json.hpp>
#include <fstream>

#include "base/file.h"
#include "evaluate/cuda/counters.h"

namespace specgen {
namespace {

namespace json = boost::json;
namespace fs = std::filesystem;

json::array json_of(const std::vector<Tensor>& tensors) {
  json::array all;
  for (const Tensor& tensor : tensors) {
    all.push_back(
        {{"name", tensor.name}, {"dtype", to_string(tensor.dtype)}, {"elements", tensor.elements}});
  }
  return all;
}

Result<std::vector<Tensor>> tensors_at(const Json& value, std::string_view key) {
  const Json* member = member_at(value, key);
  if (!member || !member->is_array()) return fail(ErrorCode::bad_json, "no tensors");
  std::vector<Tensor> tensors;
  for (const Json& item : member->get_array()) {
    tensors.push_back({.name = text_at(item, "name"),
                       .dtype = TRY(parse_dtype(text_at(item, "dtype"))),
                       .shape = {},
                       .elements = int_at(item, "elements")});
  }
  return tensors;
}

Result<void> put(const fs::path& path, std::string_view bytes) {
  std::ofstream file(path, std::ios::binary);
  file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  file.close();
  if (!file) return fail(ErrorCode::system_call, "cannot write " + path.string());
  return {};
}

}  // namespace

Result<void> write_once_job(const fs::path& folder, const OnceJob& job) {
  json::array distributions;
  for (const Distribution& one : job.distributions) {
    distributions.push_back(json::array{static_cast<int>(one.kind), one.a, one.b});
  }
  json::object text{{"device", job.device},
                    {"inputs", json_of(job.at.inputs)},
                    {"outputs", json_of(job.at.outputs)},
                    {"distributions", std::move(distributions)},
                    {"seed", std::to_string(job.seed)},
                    {"plan", to_json(job.plan)},
                    {"functions", json::array(job.functions.begin(), job.functions.end())}};
  TRY(put(folder / "job.json", compact_json(text)));
  TRY(put(folder / "inputs.cubin", job.inputs_binary));
  TRY(put(folder / "tools.cubin", job.tools_binary));
  return put(folder / "candidate.cubin", job.candidate_binary);
}

Result<OnceJob> read_once_job(const fs::path& folder) {
  Json value = TRY(parse_json(TRY(read_file(folder / "job.json"))));
  OnceJob job;
  job.device = static_cast<int>(int_at(value, "device"));
  job.at.inputs = TRY(tensors_at(value, "inputs"));
  job.at.outputs = TRY(tensors_at(value, "outputs"));
  const Json* distributions = member_at(value, "distributions");
  const Json* plan = member_at(value, "plan");
  const Json* functions = member_at(value, "functions");
  if (!distributions || !distributions->is_array() || !plan || !functions ||
      !functions->is_array() || distributions->get_array().size() != job.at.inputs.size()) {
    return fail(ErrorCode::bad_json, "the job is incomplete");
  }
  for (const Json& item : distributions->get_array()) {
    if (!item.is_array() || item.get_array().size() != 3 || !item.get_array()[0].is_int64() ||
        !item.get_array()[1].is_number() || !item.get_array()[2].is_number()) {
      return fail(ErrorCode::bad_json, "a distribution must be three numbers");
    }
    const json::array& numbers = item.get_array();
    job.distributions.push_back({.kind = static_cast<Distribution::Kind>(numbers[0].get_int64()),
                                 .a = numbers[1].to_number<double>(),
                                 .b = numbers[2].to_number<double>()});
  }
  job.plan = TRY(launch_plan_from_json(*plan));
  for (const Json& item : functions->get_array()) {
    if (!item.is_string()) return fail(ErrorCode::bad_json, "a function without a name");
    job.functions.emplace_back(item.get_string());
  }
  job.inputs_binary = TRY(read_file(folder / "inputs.cubin", MiB(64)));
  job.tools_binary = TRY(read_file(folder / "tools.cubin", MiB(64)));
  job.candidate_binary = TRY(read_file(folder / "candidate.cubin", MiB(64)));
  return job;
}

}  // namespace specgen
