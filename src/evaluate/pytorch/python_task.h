#pragma once
// A PyTorch task: an unmodified KernelBench problem file, or any module of that form (Model, get_inputs,
// get_init_inputs, sizes as constants at its top). It becomes a KernelTask with one case of fixed shape; a reference
// process makes inputs, parameters and expected outputs and times the eager module.
//
//   Python python = CO_TRY(co_await find_python(processes, "python3"));
//   PythonHost host{.loop = loop, .driver = driver, .processes = processes, .wrap = ..., .python = python};
//   auto task = CO_TRY(co_await open_python_task(host, {.file = "level1/19_ReLU.py", .seed = ...}));
//
// Native candidates (C++, or CUDA device code) are judged like those of native tasks: kernel_task() is the task,
// only_case() its shape, and the PythonTask itself the InputSource that replaces data.h and reference.cc; the
// eager module
// is the baseline. ModelNew candidates are judged by judge_model_new() (model_new.h).
//
// For native candidates the arguments are inputs, parameters, outputs, then the axes of the inputs:
// x.0, x.1, ... and x.n, the number of elements; signature.h prints the declaration.

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/error.h"
#include "evaluate/judge/input_source.h"
#include "evaluate/pytorch/description.h"
#include "evaluate/pytorch/python_process.h"
#include "evaluate/task/kernel_task.h"

namespace specgen {

struct PythonTaskRequest {
  std::filesystem::path file;
  std::map<std::string, std::int64_t> overrides = {};  // --shape NAME=N: constants of the file
  std::uint64_t seed = 0;  // of the parameters, the same for the whole run
};

struct ExpectedOutputs {
  std::vector<Expected> expected;             // one per output
  std::vector<std::vector<std::byte>> eager;  // outputs of the module itself, in its own dtype
  bool exact = false;                         // in fp64; else in the module's own dtype
};

class PythonTask final : public InputSource {
 public:
  const KernelTask& kernel_task() const { return task_; }
  const Case& only_case() const { return case_; }
  const Description& description() const { return description_; }
  const PythonTaskRequest& request() const { return request_; }
  const PythonHost& host() const { return *host_; }

  // Inputs, then parameters, as a candidate gets them. Same seed, same bytes.
  Task<Result<std::vector<std::vector<std::byte>>>> draw(const Case& of,
                                                         std::uint64_t seed) override;
  Task<Result<std::vector<Expected>>> expect(const Case& of, std::uint64_t seed,
                                             std::size_t samples) override;
  bool is_generated() const override { return false; }
  bool is_baseline() const override { return true; }
  Task<Result<EagerRun>> run_baseline(const Case& of, std::uint64_t seed) override;
  // All elements, or `samples` secret ones of each output.
  Task<Result<ExpectedOutputs>> expect_outputs(std::uint64_t seed, std::size_t samples = 0);
  // One timed call; the inputs are copied before the clock starts.
  Task<Result<EagerRun>> time_eager(std::uint64_t seed, bool with_outputs);

  // The round trip of an empty request.
  Task<Result<double>> round_trip_ns();

  // On a GPU tensors go straight into memory that the judge has exported (POSIX descriptors of
  // cuMemExportToShareableHandle).
  bool is_on_device() const override { return host_->device != "cpu"; }
  Task<Result<void>> draw_into(const Case& of, std::uint64_t seed,
                               std::vector<ExportedTensor> inputs) override;
  Task<Result<double>> run_baseline_into(const Case& of, std::uint64_t seed,
                                         std::vector<ExportedTensor> outputs,
                                         std::size_t cold_bytes) override;

  // Elements may differ by what reordering an fp32 sum causes, and the RMS error may be at most 8
  // times that of the eager module, which finds fp16 and tf32 inside.
  Tolerance tolerance(const Case& of, const Tensor& output) const override;
  Tolerance tolerance(const Tensor& output) const { return tolerance(case_, output); }

 private:
  friend Task<Result<std::unique_ptr<PythonTask>>> open_python_task(const PythonHost&,
                                                                    PythonTaskRequest);
  friend Task<Result<Description>> describe_python_task(const PythonHost&, PythonTaskRequest);
  PythonTask(const PythonHost& host, PythonTaskRequest request)
      : host_(&host), request_(std::move(request)) {}
  Task<Result<void>> load();
  Task<Result<SocketMessage>> ask(std::string question, std::vector<int> descriptors = {});
  Task<Result<void>> calibrate();

  const PythonHost* host_;
  PythonTaskRequest request_;
  Description description_;
  KernelTask task_;
  Case case_;
  double terms_ = 1;  // per output element, estimated from the shapes
  std::unique_ptr<PythonProcess> process_;
};

// The check of a problem file before a run, in seconds: the file loads with these shapes, and the module runs on its
// inputs. bad_task (exit code 2) for a fault of the file, with its line; tool_missing (3), which names the Python, for
// what this torch lacks.
Task<Result<Description>> describe_python_task(const PythonHost& host, PythonTaskRequest request);

// The same, and calibrates the tolerance by the module's own error. `host` outlives the task.
Task<Result<std::unique_ptr<PythonTask>>> open_python_task(const PythonHost& host,
                                                           PythonTaskRequest request);

KernelTask kernel_task_of(const Description& description, const std::filesystem::path& file);

// The terms of an element are not known, so rounding is measured by its magnitude or, if larger, by the RMS of the
// tensor. There is no absolute tolerance: zeros do not pass because outputs are small.
std::vector<double> scales_of(const std::vector<double>& values, double rms);
double rms_of(const std::vector<double>& values);  // of those that are finite

}  // namespace specgen
