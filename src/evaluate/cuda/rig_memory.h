#pragma once
// All tensors of one case on the device, as the judge owns them: for every set its inputs, outputs
// and the scratch of both programs, each in a piece of its own, leaning on the end or the start of
// it; what is left of a piece holds a pattern that must not change. Everything here blocks: call it
// on the device's WorkerThread, which shares the ownership.
//
// The small pieces of one case serve the next one of the same executor: to make a piece, share it and map it there
// takes longer than a check. Nothing is left in them of the case before: inputs are drawn, outputs and scratch
// poisoned, the rest is pattern.

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
  struct Wish {
    Case at;
    std::size_t sets = 1;
    Placement placement = Placement::behind;
    std::array<LaunchPlan, kPrograms> plans;
    std::array<std::vector<Dtype>, kPrograms> scratch_dtypes;
    std::uint64_t slack_secret = 0;
  };
  // A device that is too full for the candidate's scratch is a Finding; for the tensors, an Error.
  struct Made {
    Finding finding = {};
    std::shared_ptr<RigMemory> memory = {};
  };
  // `old`: what the last case left of itself by give_up(); null for none. It goes before new pieces are made.
  static Result<Made> make(std::shared_ptr<JudgeGpu> gpu, Wish wish,
                           std::shared_ptr<RigMemory> old);
  // Ends this case. The numbers of what the executor has and `next` can use, in whatever order.
  std::vector<std::size_t> give_up(const Wish& next, Random& random);
  ~RigMemory();

  std::size_t sets() const { return inputs_.size(); }

  // For the executor: what it has to import, and where everything lies. Pieces are told by their place in this list.
  std::vector<ImportRequest::Piece> pieces(bool inputs_too) const;  // true: inputs are writable
  Result<std::vector<Fd>> share(std::span<const std::size_t> pieces) const;
  // By what number the executor knows each, where it does.
  using Numbers = std::vector<std::optional<std::size_t>>;
  Numbers numbers() const;
  void remember(const Numbers& numbers);
  // Every piece has a number. Scratch is told for the programs that are there.
  void describe(LayOutRequest& into, const Numbers& numbers) const;

  // Contents. Distributions and seeds are per input.
  Result<void> draw(std::size_t set, std::span<const Distribution> distributions,
                    std::span<const std::uint64_t> seeds);
  Result<void> upload(std::size_t set, std::span<const std::vector<std::byte>> contents);
  // For a source that is on the device: the memory of every input or output of a set. The
  // descriptors are the caller's to keep until the source has answered.
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
  // The same by the keys of the expectations; nothing where one of them is not on the device.
  Result<std::optional<std::vector<OutputReport>>> compare_known(
      std::size_t set, std::span<const std::uint64_t> keys,
      const std::vector<Tolerance>& tolerances, Poison poison);
  // Copies the outputs of all sets to where nobody else sees them, for compare_kept().
  Result<void> keep_outputs();
  // The outputs that were kept and those that are there now: `candidate_kept` tells whose are which.
  Result<std::vector<OutputReport>> compare_kept(bool candidate_kept,
                                                 const std::vector<double>& scales,
                                                 const std::vector<Tolerance>& tolerances,
                                                 Poison poison);

 private:
  struct Piece {
    DevicePiece physical;
    DeviceMapping mapping;                   // goes first
    bool is_input = false;                   // the executor may only read it
    std::optional<std::size_t> number = {};  // by which the executor knows it, if it has it
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

  RigMemory(std::shared_ptr<JudgeGpu> gpu, Wish wish);
  static JudgeGpu::Region all_slack(const Piece& piece);  // of no tensor
  std::expected<std::unique_ptr<Piece>, PartFailed> take_piece(std::size_t size, bool is_input);
  std::expected<std::size_t, PartFailed> add_part(Dtype dtype, std::int64_t elements,
                                                  std::size_t bytes, bool is_input);
  Result<void> add_tensors();
  Result<Exported> exported(const Group& group) const;
  std::expected<void, PartFailed> add_scratch(Who who, std::size_t copies);
  const Group& scratch(Who who, std::size_t set) const;
  // Outputs and its scratch. A candidate's reach goes further: what it might find by chance of the baseline's is
  // poisoned before its calls, and checked after them.
  Group written_by(Who who, std::size_t set) const;

  std::shared_ptr<JudgeGpu> gpu_;
  Wish wish_;
  std::vector<std::unique_ptr<Piece>> idle_;     // of the last case, or for the next one
  std::vector<std::unique_ptr<Piece>> leaving_;  // with this
  std::vector<Part> parts_;
  std::vector<Group> inputs_;                          // per set
  std::vector<Group> outputs_;                         // per set
  std::array<std::vector<Group>, kPrograms> scratch_;  // per set, or one for all
  std::vector<std::vector<DeviceBuffer>> kept_;        // per set
};

}  // namespace specgen
