#pragma once
// All tensors of one case on the device, owned by the judge: for every set its inputs, outputs and
// the scratch of both programs, each in a piece of its own, at the end or the start of it. The rest
// of a piece holds a pattern that must not change. Everything here blocks: call it on the device's
// WorkerThread, which shares the ownership.
//
// Small pieces are reused for the next case of the same executor: making, sharing and mapping a
// piece takes longer than a check. All their contents are replaced: inputs are drawn, outputs and
// scratch poisoned, the rest is pattern.

#include <array>
#include <memory>
#include <optional>
#include <vector>

#include "base/random.h"
#include "evaluate/candidate/launch_plan.h"
#include "evaluate/cuda/executor_protocol.h"
#include "evaluate/cuda/judge_gpu.h"
#include "evaluate/judge/input_source.h"
#include "evaluate/judge/test_rig.h"

namespace specgen {

class RigMemory {
 public:
  struct Request {
    Case at;
    std::size_t sets = 1;
    Placement placement = Placement::behind;
    std::array<LaunchPlan, kPrograms> plans;
    std::array<std::vector<Dtype>, kPrograms> scratch_dtypes;
    std::uint64_t slack_secret = 0;
  };
  // Too little memory for the candidate's scratch is a Finding; for the tensors, an Error.
  struct Made {
    Finding finding = {};
    std::shared_ptr<RigMemory> memory = {};
  };
  // `old`: the memory of the last case after end_case(), or null. What is not reused of it is freed
  // before new pieces are made.
  static Result<Made> make(std::shared_ptr<JudgeGpu> gpu, Request request,
                           std::shared_ptr<RigMemory> old);
  // Ends this case. Returns the numbers of the executor's pieces that `next` can use, in random
  // order.
  std::vector<std::size_t> end_case(const Request& next, Random& random);
  ~RigMemory();

  std::size_t sets() const { return inputs_.size(); }

  // For the executor: the pieces to import, identified by their position in this list.
  std::vector<ImportRequest::Piece> pieces(bool inputs_too) const;  // true: inputs are writable
  Result<std::vector<Fd>> share(std::span<const std::size_t> pieces) const;
  // The executor's number of each piece, if it has it.
  using Numbers = std::vector<std::optional<std::size_t>>;
  Numbers numbers() const;
  void remember(const Numbers& numbers);
  // Adds the position of every tensor, and of the scratch of the programs in `into`. Every piece
  // must have a number.
  void describe(LayOutRequest& into, const Numbers& numbers) const;

  // Contents. Distributions and seeds are per input.
  Result<void> draw(std::size_t set, std::span<const Distribution> distributions,
                    std::span<const std::uint64_t> seeds);
  Result<void> upload(std::size_t set, std::span<const std::vector<std::byte>> contents);
  // For a source on the same device: the memory of every input or output of a set. The caller keeps
  // the descriptors open until the source has answered.
  struct Exported {
    std::vector<Fd> descriptors;
    std::vector<ExportedTensor> tensors;
  };
  Result<Exported> export_inputs(std::size_t set) const { return exported(inputs_[set]); }
  Result<Exported> export_outputs(std::size_t set) const { return exported(outputs_[set]); }
  Result<void> poison(Who who, std::size_t set, std::uint64_t secret);
  Result<void> finish() { return gpu_->finish(); }

  Result<bool> slack_holds(Who who, std::span<const std::size_t> sets);
  Result<std::vector<std::uint64_t>> input_digests(std::size_t set);
  Result<std::uint64_t> output_digest(std::size_t set);
  Result<std::vector<OutputReport>> compare(std::size_t set, const std::vector<Expected>& expected,
                                            const std::vector<Tolerance>& tolerances,
                                            Poison poison);
  // The same by the keys of the expectations; nothing if one of them is not on the device.
  Result<std::optional<std::vector<OutputReport>>> compare_known(
      std::size_t set, std::span<const std::uint64_t> keys,
      const std::vector<Tolerance>& tolerances, Poison poison);
  // Copies the outputs of all sets to memory that no other process sees, for compare_kept().
  Result<void> keep_outputs();
  // Compares the kept outputs with the current ones; `candidate_kept`: the kept ones are the
  // candidate's.
  Result<std::vector<OutputReport>> compare_kept(bool candidate_kept,
                                                 const std::vector<double>& scales,
                                                 const std::vector<Tolerance>& tolerances,
                                                 Poison poison);

 private:
  struct Piece {
    DevicePiece physical;
    DeviceMapping mapping;                   // unmapped first
    bool is_input = false;                   // the executor may only read it
    std::optional<std::size_t> number = {};  // the executor's number, if it has it
  };
  struct Part {  // a tensor in its piece
    std::unique_ptr<Piece> piece;
    JudgeGpu::Region region;
    Dtype dtype = Dtype::f32;
    std::int64_t elements = 0;
  };
  struct PartFailed {
    bool is_full = false;
    Error error;
  };
  using Group = std::vector<std::size_t>;  // parts

  RigMemory(std::shared_ptr<JudgeGpu> gpu, Request request);
  static JudgeGpu::Region all_slack(const Piece& piece);  // of no tensor
  std::expected<std::unique_ptr<Piece>, PartFailed> take_piece(std::size_t size, bool is_input);
  std::expected<std::size_t, PartFailed> add_part(Dtype dtype, std::int64_t elements,
                                                  std::size_t bytes, bool is_input);
  Result<void> add_tensors();
  Result<Exported> exported(const Group& group) const;
  std::expected<void, PartFailed> add_scratch(Who who, std::size_t copies);
  const Group& scratch(Who who, std::size_t set) const;
  // Its outputs and scratch. For a candidate also the baseline's scratch, whose address it might
  // find: that is poisoned before its calls and checked after them.
  Group written_by(Who who, std::size_t set) const;

  std::shared_ptr<JudgeGpu> gpu_;
  Request request_;
  std::vector<std::unique_ptr<Piece>> idle_;     // of the last case or for the next one
  std::vector<std::unique_ptr<Piece>> leaving_;  // freed with this object
  std::vector<Part> parts_;
  std::vector<Group> inputs_;                          // per set
  std::vector<Group> outputs_;                         // per set
  std::array<std::vector<Group>, kPrograms> scratch_;  // per set, or one for all
  std::vector<std::vector<DeviceBuffer>> kept_;        // per set
};

}  // namespace specgen
