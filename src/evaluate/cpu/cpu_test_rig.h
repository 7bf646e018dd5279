#pragma once
// The test rig of a CPU device: candidate and baseline in two sandboxed processes that sleep unless
// called, on the same cores, one at a time. Both share the sealed inputs. Each has its own outputs
// and scratch, so that neither sees the other's results.
//
// A candidate can reach all memory of its process: the tensors of other sets, its own stack of an
// earlier call, the mailbox it is called through. So no input is used twice, a few elements of
// every input are wrong until the call on it begins, and samples of its outputs are taken when it
// reports that it is done and compared when it sleeps and at the end of the round.

#include <array>
#include <memory>
#include <optional>
#include <vector>

#include "base/random.h"
#include "evaluate/cpu/cpu_executor.h"
#include "evaluate/cpu/hidden_work.h"
#include "evaluate/cpu/tensor_files.h"
#include "evaluate/judge/input_source.h"
#include "evaluate/judge/test_rig.h"
#include "runtime/perf_counters.h"

namespace specgen {

class CpuTestRig final : public TestRig {
 public:
  struct Parts {
    Program candidate;
    Program baseline;
    std::unique_ptr<CpuExecutor> candidate_executor;
    std::unique_ptr<CpuExecutor> baseline_executor;  // null: the source is the baseline
  };
  // `files` and `no_counters` must outlive it. The latter is set if this machine has no counters.
  CpuTestRig(Loop& loop, TensorFiles& files, InputSource& source, Parts parts, std::size_t threads,
             TestRigLimits limits, Secret secret, std::optional<Error>& no_counters);
  ~CpuTestRig() override;

  Task<Result<Finding>> lay_out(const KernelTask& task, Case at, std::vector<SetInput> seeds,
                                Placement placement, Called called) override;
  Task<Result<void>> refresh(std::vector<SetInput> seeds) override;
  Task<Result<Finding>> call(Who who, std::size_t set) override;
  Task<Result<std::vector<OutputReport>>> compare_outputs(
      std::size_t set, const std::vector<Expected>& expected,
      const std::vector<Tolerance>& tolerances) override;
  Task<Result<std::uint64_t>> digest(std::size_t set) override;
  Task<Result<Round>> time_round(const std::vector<double>& scales,
                                 const std::vector<Tolerance>& tolerances) override;
  Task<Result<Finding>> count(std::string& into) override;

 private:
  struct Side {  // the candidate or the baseline
    Program program;
    std::unique_ptr<CpuExecutor> executor;
    SharedFile scratch;
    std::vector<SharedFile> outputs;  // one per set
  };
  struct Place {  // position of a tensor in its file
    std::size_t file_offset = 0;
    std::size_t map_bytes = 0;
    std::size_t payload_offset = 0;
  };

  struct Withheld {  // an element of an input that is wrong except during a call
    std::span<std::byte> place;
    std::array<std::byte, 8> right;
    std::array<std::byte, 8> wrong;
  };
  struct OutputSample {  // taken when the candidate reports that it is done
    std::span<const std::byte> place;
    std::array<std::byte, 8> value;
  };
  struct Turn {  // of a round
    Who who;
    std::size_t set;
  };
  struct Counting {  // of one call
    PerfCounters counters;
    Result<CounterValues> counted;
  };

  Side& side(Who who) { return sides_[static_cast<std::size_t>(who)]; }
  std::span<std::byte> payload(const SharedFile& file, const Place& place, std::size_t bytes) const;
  Task<Result<void>> draw(std::size_t set, SetInput input);
  void withhold(std::size_t set);
  void reveal(std::size_t set);
  void sample_outputs(std::size_t set);
  bool samples_unchanged(std::size_t set) const;
  Task<Result<Finding>> end_cases();
  void give_files_back();
  static std::size_t place_all(const std::vector<Tensor>& tensors, Placement placement,
                               std::vector<Place>& places);
  Task<Result<Finding>> take_memory(Side& mine, std::size_t sets, std::size_t output_bytes,
                                    std::size_t& scratch_bytes);
  Task<void> lay_out_for(const KernelTask& task, Side& mine, std::size_t scratch_bytes,
                         Placement placement, std::optional<Result<Finding>>& answer);
  void fill_slack(const SharedFile& file, const std::vector<Tensor>& tensors,
                  const std::vector<Place>& places) const;
  void poison_outputs(Who who, std::size_t set);
  void poison_scratch(Who who);
  bool guards_hold(Who who, std::size_t set) const;
  Task<Result<Finding>> call_source(std::size_t set, CallTiming& timing);
  Task<Result<Finding>> call_timed(Who who, std::size_t set, CallTiming& timing);
  std::vector<Turn> turns_of_round(bool candidate_first) const;
  // Takes the turns, and leaves in `turns` those that were disturbed.
  Task<Result<Finding>> take_turns(std::vector<Turn>& turns, Round& round);
  Task<Result<void>> prepare_again(const std::vector<Turn>& turns, std::vector<bool>& redrawn);
  void compare_round(const std::vector<double>& scales, const std::vector<Tolerance>& tolerances,
                     Round& round);
  Result<PerfCounters> open_counters();
  Task<Result<Finding>> count_calls(PerfCounters counters, Result<CounterValues>& counted);
  Task<Result<Finding>> call_counted(std::size_t set, Counting& counting);
  Finding in_this_case(Finding finding) const;

  Loop& loop_;
  TensorFiles& files_;
  InputSource& source_;
  std::array<Side, 2> sides_;
  std::size_t threads_;
  TestRigLimits limits_;
  Poison poison_;
  Case case_;
  std::vector<SetInput> seeds_;
  std::vector<Place> input_places_;
  std::vector<Place> output_places_;
  std::vector<SharedFile> inputs_;                  // one per set
  std::vector<std::vector<Withheld>> withheld_;     // per set
  std::vector<std::vector<OutputSample>> samples_;  // of the candidate's outputs, per set
  Random random_;                 // not seeded with the poison's secret, which is in every output
  std::vector<Who> last_called_;  // per set
  std::size_t rounds_ = 0;
  HiddenWork hidden_work_;  // of the candidate
  std::optional<Error>& no_counters_;
};

}  // namespace specgen
