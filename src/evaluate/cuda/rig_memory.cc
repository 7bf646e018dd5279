#include "evaluate/cuda/rig_memory.h"

#include "base/assert.h"
#include "base/hash.h"

namespace specgen {
namespace {

std::size_t index_of(Who who) {
  return static_cast<std::size_t>(who);
}

}  // namespace

RigMemory::RigMemory(std::shared_ptr<JudgeGpu> gpu, Request request)
    : gpu_(std::move(gpu)), request_(std::move(request)) {}

RigMemory::~RigMemory() {
  // The last owner may be a thread that has not entered our context. An error here was reported
  // before.
  static_cast<void>(gpu_->enter());
}

std::expected<std::unique_ptr<RigMemory::Piece>, RigMemory::PartFailed> RigMemory::take_piece(
    std::size_t size, bool is_input) {
  for (std::size_t i = idle_.size(); i-- > 0;) {
    if (idle_[i]->physical.bytes() != size || idle_[i]->is_input != is_input) continue;
    auto found = std::move(idle_[i]);
    idle_.erase(idle_.begin() + static_cast<std::ptrdiff_t>(i));
    return found;
  }
  const CudaDeviceFacts& device = gpu_->device();
  auto piece = DevicePiece::create(gpu_->driver(), device.handle, size);
  if (!piece) {
    return std::unexpected(PartFailed{.is_full = piece.error().code == kCudaOutOfMemory,
                                      .error = std::move(piece.error().error)});
  }
  auto mapping = DeviceMapping::map(gpu_->driver(), device.handle, *piece, true, 0);
  if (!mapping) return std::unexpected(PartFailed{.error = std::move(mapping).error()});
  return std::make_unique<Piece>(std::move(*piece), std::move(*mapping), is_input);
}

std::expected<std::size_t, RigMemory::PartFailed> RigMemory::add_part(Dtype dtype,
                                                                      std::int64_t elements,
                                                                      std::size_t bytes,
                                                                      bool is_input) {
  std::size_t size = round_up(std::max<std::size_t>(bytes, 1), gpu_->device().granularity);
  auto piece = take_piece(size, is_input);
  if (!piece) return std::unexpected(std::move(piece).error());
  JudgeGpu::Region region{
      .memory = (*piece)->mapping.address(),
      .size = size,
      .offset = place_in_piece(size, bytes, request_.placement == Placement::behind),
      .bytes = bytes};
  if (auto filled = gpu_->fill_slack(region, request_.slack_secret); !filled) {
    return std::unexpected(PartFailed{.error = std::move(filled).error()});
  }
  // Inputs are drawn before anything runs, but outputs and scratch are poisoned only before a call
  // on their own set.
  if ((*piece)->number && !is_input) {
    auto poisoned = gpu_->poison(region.tensor(), dtype, elements, request_.slack_secret);
    if (!poisoned) return std::unexpected(PartFailed{.error = std::move(poisoned).error()});
  }
  parts_.emplace_back(std::move(*piece), region, dtype, elements);
  return parts_.size() - 1;
}

Result<void> RigMemory::add_tensors() {
  for (std::size_t set = 0; set < request_.sets; ++set) {
    for (bool is_input : {true, false}) {
      Group& group = (is_input ? inputs_ : outputs_).emplace_back();
      for (const Tensor& tensor : is_input ? request_.at.inputs : request_.at.outputs) {
        auto part = add_part(tensor.dtype, tensor.elements, tensor.bytes(), is_input);
        if (!part) return std::unexpected(std::move(part.error().error));
        group.push_back(*part);
      }
    }
  }
  return {};
}

std::expected<void, RigMemory::PartFailed> RigMemory::add_scratch(Who who, std::size_t copies) {
  const LaunchPlan& plan = request_.plans[index_of(who)];
  const auto& dtypes = request_.scratch_dtypes[index_of(who)];
  for (std::size_t copy = 0; copy < copies; ++copy) {
    Group& group = scratch_[index_of(who)].emplace_back();
    for (std::size_t i = 0; i < plan.scratch_bytes.size(); ++i) {
      Dtype dtype = i < dtypes.size() ? dtypes[i] : Dtype::u8;
      std::size_t bytes = plan.scratch_bytes[i];
      auto elements = static_cast<std::int64_t>(bytes / size_of(dtype));
      auto part = add_part(dtype, elements, bytes, false);
      if (!part) return std::unexpected(std::move(part).error());
      group.push_back(*part);
    }
  }
  return {};
}

JudgeGpu::Region RigMemory::all_slack(const Piece& piece) {
  return {.memory = piece.mapping.address(), .size = piece.physical.bytes()};
}

Result<RigMemory::Made> RigMemory::make(std::shared_ptr<JudgeGpu> gpu, Request request,
                                        std::shared_ptr<RigMemory> old) {
  TRY(gpu->enter());
  auto memory = std::shared_ptr<RigMemory>(new RigMemory(std::move(gpu), std::move(request)));
  if (old) memory->idle_ = std::move(old->idle_);
  old.reset();
  TRY(memory->add_tensors());
  std::size_t free = TRY(memory->gpu_->free_bytes());
  for (Who who : {Who::baseline, Who::candidate}) {
    std::size_t once = 0;
    for (std::size_t bytes : memory->request_.plans[index_of(who)].scratch_bytes) once += bytes;
    // Scratch for every set, unless that would take too much.
    std::size_t copies = once <= free / 4 / memory->request_.sets ? memory->request_.sets : 1;
    auto added = memory->add_scratch(who, copies);
    if (added) continue;
    if (!added.error().is_full || who == Who::baseline) {
      return std::unexpected(std::move(added.error().error));
    }
    return Made{.finding = finding(Verdict::out_of_memory,
                                   "there is not enough device memory for its scratch")};
  }
  // Unused if all sets share one scratch.
  for (const auto& piece : memory->idle_) {
    TRY(memory->gpu_->fill_slack(all_slack(*piece), memory->request_.slack_secret));
  }
  TRY(memory->finish());
  return Made{.memory = std::move(memory)};
}

// Large pieces can seldom be reused, and are freed.
std::vector<std::size_t> RigMemory::end_case(const Request& next, Random& random) {
  const std::size_t small = gpu_->device().granularity;
  std::size_t inputs = 0, others = 0;  // small pieces that `next` needs
  for (const Tensor& tensor : next.at.inputs) inputs += tensor.bytes() <= small ? next.sets : 0;
  for (const Tensor& tensor : next.at.outputs) others += tensor.bytes() <= small ? next.sets : 0;
  for (const LaunchPlan& plan : next.plans) {
    for (std::size_t bytes : plan.scratch_bytes) others += bytes <= small ? next.sets : 0;
  }
  std::vector<std::unique_ptr<Piece>> all = std::exchange(idle_, {});
  for (Part& part : parts_) all.push_back(std::move(part.piece));
  random.shuffle(all);  // the address of a tensor must not reveal which one it is
  std::vector<std::size_t> numbers;
  for (std::unique_ptr<Piece>& piece : all) {
    std::size_t& wanted = piece->is_input ? inputs : others;
    const bool is_kept = piece->physical.bytes() == small && piece->number && wanted > 0;
    if (is_kept) {
      --wanted;
      numbers.push_back(*piece->number);
    }
    (is_kept ? idle_ : leaving_).push_back(std::move(piece));
  }
  return numbers;
}

const RigMemory::Group& RigMemory::scratch(Who who, std::size_t set) const {
  const auto& copies = scratch_[index_of(who)];
  return copies[set % copies.size()];
}

RigMemory::Group RigMemory::written_by(Who who, std::size_t set) const {
  Group all = outputs_[set];
  for (Who whose : {Who::baseline, Who::candidate}) {
    if (whose != who && who == Who::baseline) continue;
    const Group& more = scratch(whose, set);
    all.insert(all.end(), more.begin(), more.end());
  }
  return all;
}

std::vector<ImportRequest::Piece> RigMemory::pieces(bool inputs_too) const {
  std::vector<ImportRequest::Piece> all;
  for (const Part& part : parts_) {
    all.push_back(
        {.bytes = part.piece->physical.bytes(), .writable = !part.piece->is_input || inputs_too});
  }
  return all;
}

Result<std::vector<Fd>> RigMemory::share(std::span<const std::size_t> pieces) const {
  TRY(gpu_->enter());
  std::vector<Fd> descriptors;
  for (std::size_t piece : pieces)
    descriptors.push_back(TRY(parts_[piece].piece->physical.share()));
  return descriptors;
}

RigMemory::Numbers RigMemory::numbers() const {
  Numbers all;
  for (const Part& part : parts_) all.push_back(part.piece->number);
  return all;
}

void RigMemory::remember(const Numbers& numbers) {
  for (std::size_t i = 0; i < parts_.size(); ++i) parts_[i].piece->number = numbers[i];
}

void RigMemory::describe(LayOutRequest& into, const Numbers& numbers) const {
  auto add = [&](std::vector<Place>& places, const Group& group) {
    for (std::size_t part : group) {
      const JudgeGpu::Region& region = parts_[part].region;
      places.push_back({.piece = *numbers[part], .offset = region.offset, .bytes = region.bytes});
    }
  };
  for (std::size_t set = 0; set < sets(); ++set) {
    std::vector<Place>& tensors = into.tensors.emplace_back();
    add(tensors, inputs_[set]);
    add(tensors, outputs_[set]);
    for (Who who : {Who::baseline, Who::candidate}) {
      auto& program = into.programs[index_of(who)];
      if (program) add(program->scratch.emplace_back(), scratch(who, set));
    }
  }
}

Result<void> RigMemory::draw(std::size_t set, std::span<const Distribution> distributions,
                             std::span<const std::uint64_t> seeds) {
  TRY(gpu_->enter());
  for (std::size_t i = 0; i < inputs_[set].size(); ++i) {
    const Part& part = parts_[inputs_[set][i]];
    TRY(gpu_->fill(part.region.tensor(), part.dtype, part.elements, distributions[i], seeds[i]));
  }
  return {};
}

Result<void> RigMemory::upload(std::size_t set, std::span<const std::vector<std::byte>> contents) {
  TRY(gpu_->enter());
  SG_ASSERT(contents.size() == inputs_[set].size(), "contents for every input");
  for (std::size_t i = 0; i < contents.size(); ++i) {
    const JudgeGpu::Region& region = parts_[inputs_[set][i]].region;
    SG_ASSERT(contents[i].size() == region.bytes, "contents of the tensor's size");
    TRY(gpu_->upload(region.tensor(), contents[i]));
  }
  return {};
}

Result<RigMemory::Exported> RigMemory::exported(const Group& group) const {
  Exported all;
  all.descriptors = TRY(share(group));
  for (std::size_t i = 0; i < group.size(); ++i) {
    const Part& part = parts_[group[i]];
    all.tensors.push_back({.descriptor = all.descriptors[i].get(),
                           .allocation_bytes = part.piece->physical.bytes(),
                           .offset = part.region.offset});
  }
  return all;
}

Result<void> RigMemory::poison(Who who, std::size_t set, std::uint64_t secret) {
  TRY(gpu_->enter());
  for (std::size_t index : written_by(who, set)) {
    const Part& part = parts_[index];
    TRY(gpu_->poison(part.region.tensor(), part.dtype, part.elements, secret));
  }
  return {};
}

Result<bool> RigMemory::slack_holds(Who who, std::span<const std::size_t> sets) {
  TRY(gpu_->enter());
  std::vector<JudgeGpu::Region> regions;
  for (std::size_t set : sets) {
    for (std::size_t index : written_by(who, set)) regions.push_back(parts_[index].region);
  }
  for (const auto& piece : idle_) {  // still mapped in the executor
    if (!piece->is_input) regions.push_back(all_slack(*piece));
  }
  return TRY(gpu_->changed_slack(regions, request_.slack_secret)) == 0;
}

Result<std::vector<std::uint64_t>> RigMemory::input_digests(std::size_t set) {
  TRY(gpu_->enter());
  std::vector<std::uint64_t> digests;
  for (std::size_t index : inputs_[set]) {
    const JudgeGpu::Region& region = parts_[index].region;
    digests.push_back(TRY(gpu_->digest(region.tensor(), region.bytes)));
  }
  return digests;
}

Result<std::uint64_t> RigMemory::output_digest(std::size_t set) {
  TRY(gpu_->enter());
  TraceHash all;
  for (std::size_t index : outputs_[set]) {
    const JudgeGpu::Region& region = parts_[index].region;
    all.mix(TRY(gpu_->digest(region.tensor(), region.bytes)));
  }
  return all.value();
}

Result<std::vector<OutputReport>> RigMemory::compare(std::size_t set,
                                                     const std::vector<Expected>& expected,
                                                     const std::vector<Tolerance>& tolerances,
                                                     Poison poison) {
  TRY(gpu_->enter());
  SG_ASSERT(expected.size() == outputs_[set].size() && tolerances.size() == expected.size(),
            "expectations for every output");
  std::vector<OutputReport> reports;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    reports.push_back(
        TRY(gpu_->compare(parts_[outputs_[set][i]].region.tensor(), request_.at.outputs[i],
                          expected[i], tolerances[i], poison)));
  }
  return reports;
}

Result<std::optional<std::vector<OutputReport>>> RigMemory::compare_known(
    std::size_t set, std::span<const std::uint64_t> keys, const std::vector<Tolerance>& tolerances,
    Poison poison) {
  TRY(gpu_->enter());
  SG_ASSERT(keys.size() == outputs_[set].size() && tolerances.size() == keys.size(),
            "expectations for every output");
  std::vector<OutputReport> reports;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    auto report = TRY(gpu_->compare_known(parts_[outputs_[set][i]].region.tensor(),
                                          request_.at.outputs[i], keys[i], tolerances[i], poison));
    if (!report) return std::nullopt;
    reports.push_back(*report);
  }
  return reports;
}

Result<void> RigMemory::keep_outputs() {
  TRY(gpu_->enter());
  if (kept_.empty()) {
    for (const Group& group : outputs_) {
      std::vector<DeviceBuffer>& buffers = kept_.emplace_back();
      for (std::size_t index : group) {
        buffers.push_back(
            TRY(DeviceBuffer::create(gpu_->driver(), gpu_->device(), parts_[index].region.bytes)));
      }
    }
  }
  for (std::size_t set = 0; set < sets(); ++set) {
    for (std::size_t i = 0; i < outputs_[set].size(); ++i) {
      const JudgeGpu::Region& region = parts_[outputs_[set][i]].region;
      TRY(gpu_->copy(kept_[set][i].address(), region.tensor(), region.bytes));
    }
  }
  return {};
}

Result<std::vector<OutputReport>> RigMemory::compare_kept(bool candidate_kept,
                                                          const std::vector<double>& scales,
                                                          const std::vector<Tolerance>& tolerances,
                                                          Poison poison) {
  TRY(gpu_->enter());
  std::vector<OutputReport> reports(request_.at.outputs.size());
  for (std::size_t set = 0; set < sets(); ++set) {
    for (std::size_t i = 0; i < reports.size(); ++i) {
      CuAddress kept = kept_[set][i].address();
      CuAddress present = parts_[outputs_[set][i]].region.tensor();
      merge(reports[i], TRY(gpu_->compare_with_baseline(
                            candidate_kept ? kept : present, candidate_kept ? present : kept,
                            request_.at.outputs[i], scales[i], tolerances[i], poison)));
    }
  }
  return reports;
}

}  // namespace specgen
