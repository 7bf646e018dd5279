#include "evaluate/cpu/cpu_test_rig.h"

#include <fmt/core.h>

#include <algorithm>
#include <boost/json.hpp>
#include <cstring>

#include "base/hash.h"
#include "evaluate/candidate/launch_plan.h"
#include "evaluate/cpu/counted_calls.h"
#include "runtime/stopwatch.h"
#include "runtime/task_group.h"

namespace specgen {
namespace {

constexpr std::size_t kAlignment = 64;
constexpr std::byte kCanary{0xa7};      // around payloads
constexpr std::byte kNotANumber{0xff};  // in scratch: NaN as a float of any size
constexpr std::size_t kMaxScratch = std::size_t{1} << 30;

Finding deferred_work(const CallTiming& timing) {
  return finding(Verdict::deferred_work,
                 fmt::format("it used {} of processor time for a call that was done after {}{}",
                             format_duration(Duration(timing.cpu_ns)),
                             format_duration(Duration(timing.awake_ns)),
                             timing.fell_asleep ? "" : ", and continued to run after that"));
}

}  // namespace

CpuTestRig::CpuTestRig(Loop& loop, TensorFiles& files, InputSource& source, Parts parts,
                       std::size_t threads, TestRigLimits limits, Secret secret,
                       std::optional<Error>& no_counters)
    : loop_(loop),
      files_(files),
      source_(source),
      threads_(threads),
      limits_(limits),
      poison_{secret.words[0]},
      random_(secret.words[1]),
      no_counters_(no_counters) {
  side(Who::candidate) = {std::move(parts.candidate), std::move(parts.candidate_executor), {}, {}};
  side(Who::baseline) = {std::move(parts.baseline), std::move(parts.baseline_executor), {}, {}};
}

CpuTestRig::~CpuTestRig() {
  give_files_back();
}

Task<Result<Finding>> CpuTestRig::end_cases() {
  for (Side& one : sides_) {
    if (!one.executor) continue;
    Finding ended = CO_TRY(co_await one.executor->end_case());
    if (!ended.ok()) co_return ended;
  }
  co_return Finding{};
}

void CpuTestRig::give_files_back() {
  TensorFiles::Users users;
  bool all_known = true;
  for (const Side& one : sides_) {
    if (!one.executor || !one.executor->has_sent_files()) continue;
    if (one.executor->case_process()) users.push_back(one.executor->case_process());
    all_known &= one.executor->case_process() != nullptr;
  }
  auto give_back = [&](std::vector<SharedFile>& files, TensorFiles::Access access) {
    for (SharedFile& file : files) {
      if (all_known) files_.give_back(std::move(file), access, users);
    }
    files.clear();
  };
  give_back(inputs_, TensorFiles::Access::reading);
  for (Side& one : sides_) give_back(one.outputs, TensorFiles::Access::writing);
}

std::span<std::byte> CpuTestRig::payload(const SharedFile& file, const Place& place,
                                         std::size_t bytes) const {
  return file.bytes().subspan(place.file_offset + place.payload_offset, bytes);
}

Finding CpuTestRig::in_this_case(Finding finding) const {
  if (!finding.ok() && finding.evidence.case_name.empty())
    finding.evidence.case_name = case_.title();
  return finding;
}

// Returns the size of a file with all of them.
std::size_t CpuTestRig::place_all(const std::vector<Tensor>& tensors, Placement placement,
                                  std::vector<Place>& places) {
  places.clear();
  std::size_t offset = 0;
  for (const Tensor& tensor : tensors) {
    std::size_t map_bytes = round_up_to_pages(tensor.bytes());
    std::size_t slack = map_bytes - tensor.bytes();
    places.push_back(
        {offset, map_bytes, placement == Placement::behind ? slack / kAlignment * kAlignment : 0});
    offset += map_bytes;
  }
  return offset;
}

// Scratch, and outputs for every set.
Task<Result<Finding>> CpuTestRig::take_memory(Side& mine, std::size_t sets,
                                              std::size_t output_bytes,
                                              std::size_t& scratch_bytes) {
  auto wanted = resolve_scratch(mine.program.directives, case_, mine.program.tunables);
  if (!wanted) {
    co_return Finding{.verdict = Verdict::rejected,
                      .evidence = {.text = wanted.error().reason, .line = wanted.error().line}};
  }
  if (*wanted > kMaxScratch) {
    co_return finding(Verdict::out_of_memory,
                      fmt::format("it asks for {} of scratch; the limit is {}",
                                  format_bytes({*wanted}), format_bytes({kMaxScratch})));
  }
  scratch_bytes = *wanted;
  mine.scratch =
      CO_TRY(SharedFile::make("scratch", round_up_to_pages(*wanted), SharedFile::Pages::at_once));
  for (std::size_t set = 0; set < sets; ++set) {
    mine.outputs.push_back(CO_TRY(files_.take(output_bytes, TensorFiles::Access::writing)));
  }
  co_return Finding{};
}

Task<Result<Finding>> CpuTestRig::lay_out(const KernelTask& task, Case at,
                                          std::vector<SetInput> seeds, Placement placement,
                                          Called called) {
  case_ = std::move(at);
  Finding ended = CO_TRY(co_await end_cases());
  if (!ended.ok()) co_return in_this_case(std::move(ended));
  give_files_back();
  const std::size_t input_bytes = place_all(case_.inputs, placement, input_places_);
  const std::size_t output_bytes = place_all(case_.outputs, placement, output_places_);
  withheld_.assign(seeds.size(), {});
  for (std::size_t set = 0; set < seeds.size(); ++set) {
    inputs_.push_back(CO_TRY(files_.take(input_bytes, TensorFiles::Access::reading)));
    fill_slack(inputs_.back(), case_.inputs, input_places_);
  }
  last_called_.assign(seeds.size(), Who::candidate);
  samples_.assign(seeds.size(), {});
  rounds_ = 0;
  // Both processes map their memory at the same time, while the inputs are drawn.
  std::array<std::optional<Result<Finding>>, 2> answers;
  TaskGroup both(loop_);
  for (Who who : {Who::baseline, Who::candidate}) {
    Side& mine = side(who);
    if (who == Who::baseline && called == Called::candidate) continue;
    std::size_t scratch_bytes = 0;
    Finding taken = CO_TRY(co_await take_memory(mine, seeds.size(), output_bytes, scratch_bytes));
    if (!taken.ok()) co_return in_this_case(std::move(taken));
    if (!mine.executor) continue;  // the source is the baseline
    both.spawn(
        lay_out_for(task, mine, scratch_bytes, placement, answers[static_cast<std::size_t>(who)]));
  }
  co_await loop_.yield();  // both tasks start
  CO_TRY(co_await refresh(seeds));
  CO_TRY(co_await both.join());
  for (auto& answer : answers) {
    if (!answer) continue;
    Finding last = CO_TRY(std::move(*answer));
    if (!last.ok()) co_return in_this_case(std::move(last));
  }
  co_return Finding{};
}

Task<void> CpuTestRig::lay_out_for(const KernelTask& task, Side& mine, std::size_t scratch_bytes,
                                   Placement placement, std::optional<Result<Finding>>& answer) {
  CpuLayout layout;
  layout.trailing_buffers = 1;
  std::vector<int> files;
  const std::size_t map_bytes = mine.scratch.bytes().size();
  const Place scratch{
      0, map_bytes,
      placement == Placement::behind ? (map_bytes - scratch_bytes) / kAlignment * kAlignment : 0};
  for (std::size_t set = 0; set < inputs_.size(); ++set) {
    std::vector<MappedBuffer>& buffers = layout.sets.emplace_back();
    auto add = [&](const SharedFile& file, const std::vector<Place>& places, bool read_only) {
      for (const Place& place : places) {
        buffers.push_back(
            {files.size(), place.file_offset, place.map_bytes, place.payload_offset, read_only});
      }
      files.push_back(file.fd());
    };
    add(inputs_[set], input_places_, true);
    add(mine.outputs[set], output_places_, false);
    add(mine.scratch, {scratch}, false);
  }
  for (const AxisSpec& axis : task.axes) layout.integers.push_back(case_.axes.at(axis.name));
  for (const ScalarSpec& scalar : task.scalars) layout.reals.push_back(scalar.value);
  answer = co_await mine.executor->lay_out(layout, std::move(files));
}

Task<Result<void>> CpuTestRig::refresh(std::vector<SetInput> seeds) {
  SG_ASSERT(seeds.size() == inputs_.size(), "a seed for every set");
  seeds_ = seeds;
  for (std::size_t set = 0; set < seeds.size(); ++set) CO_TRY(co_await draw(set, seeds[set]));
  co_return Result<void>();
}

// About one element per page is withheld. Until the call it is replaced by another element of the
// same tensor, so that a candidate cannot recognise it.
Task<Result<void>> CpuTestRig::draw(std::size_t set, SetInput input) {
  constexpr std::size_t kOneIn = 1024;
  seeds_[set] = input;
  std::vector<std::span<std::byte>> contents;
  for (std::size_t i = 0; i < case_.inputs.size(); ++i) {
    contents.push_back(payload(inputs_[set], input_places_[i], case_.inputs[i].bytes()));
  }
  withheld_[set].clear();
  CO_TRY(co_await source_.draw_to(with_draw(case_, input), input.seed, contents));
  for (std::size_t i = 0; i < contents.size(); ++i) {
    const std::span<std::byte> into = contents[i];
    const std::size_t size = size_of(case_.inputs[i].dtype);
    const auto elements = static_cast<std::size_t>(case_.inputs[i].elements);
    for (std::size_t first = 0; first < elements; first += kOneIn) {
      std::size_t at = first + random_.below(std::min(kOneIn, elements - first));
      std::size_t other = random_.below(elements);
      Withheld& element =
          withheld_[set].emplace_back(Withheld{into.subspan(at * size, size), {}, {}});
      std::copy_n(into.begin() + static_cast<std::ptrdiff_t>(at * size), size,
                  element.right.begin());
      std::copy_n(into.begin() + static_cast<std::ptrdiff_t>(other * size), size,
                  element.wrong.begin());
    }
  }
  withhold(set);
  co_return Result<void>();
}

void CpuTestRig::withhold(std::size_t set) {
  for (const Withheld& element : withheld_[set]) {
    std::copy_n(element.wrong.begin(), element.place.size(), element.place.begin());
  }
}

void CpuTestRig::reveal(std::size_t set) {
  for (const Withheld& element : withheld_[set]) {
    std::copy_n(element.right.begin(), element.place.size(), element.place.begin());
  }
}

// The last element, which is likely to be written late, and random others.
void CpuTestRig::sample_outputs(std::size_t set) {
  constexpr std::size_t kSamples = 24;
  const SharedFile& file = side(Who::candidate).outputs[set];
  for (std::size_t i = 0; i < case_.outputs.size(); ++i) {
    const Tensor& tensor = case_.outputs[i];
    const std::size_t size = size_of(tensor.dtype);
    std::span<const std::byte> all = payload(file, output_places_[i], tensor.bytes());
    const auto elements = static_cast<std::size_t>(tensor.elements);
    for (std::size_t n = 0; n < kSamples && elements > 0; ++n) {
      std::size_t at = n == 0 ? elements - 1 : random_.below(elements);
      OutputSample& sample =
          samples_[set].emplace_back(OutputSample{all.subspan(at * size, size), {}});
      std::ranges::copy(sample.place, sample.value.begin());
    }
  }
}

bool CpuTestRig::samples_unchanged(std::size_t set) const {
  return std::ranges::all_of(samples_[set], [](const OutputSample& sample) {
    return std::memcmp(sample.place.data(), sample.value.data(), sample.place.size()) == 0;
  });
}

// The bytes before and after the payloads.
void CpuTestRig::fill_slack(const SharedFile& file, const std::vector<Tensor>& tensors,
                            const std::vector<Place>& places) const {
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    auto all = file.bytes().subspan(places[i].file_offset, places[i].map_bytes);
    std::ranges::fill(all.first(places[i].payload_offset), kCanary);
    std::ranges::fill(all.subspan(places[i].payload_offset + tensors[i].bytes()), kCanary);
  }
}

void CpuTestRig::poison_outputs(Who who, std::size_t set) {
  const SharedFile& file = side(who).outputs[set];
  fill_slack(file, case_.outputs, output_places_);
  for (std::size_t i = 0; i < case_.outputs.size(); ++i) {
    const Tensor& tensor = case_.outputs[i];
    poison(tensor.dtype, payload(file, output_places_[i], tensor.bytes()), poison_);
  }
}

void CpuTestRig::poison_scratch(Who who) {
  std::ranges::fill(side(who).scratch.bytes(), kNotANumber);
}

bool CpuTestRig::guards_hold(Who who, std::size_t set) const {
  const SharedFile& file = sides_[static_cast<std::size_t>(who)].outputs[set];
  for (std::size_t i = 0; i < case_.outputs.size(); ++i) {
    const Place& place = output_places_[i];
    auto all = file.bytes().subspan(place.file_offset, place.map_bytes);
    auto is_canary = [](std::byte b) { return b == kCanary; };
    if (!std::ranges::all_of(all.first(place.payload_offset), is_canary)) return false;
    if (!std::ranges::all_of(all.subspan(place.payload_offset + case_.outputs[i].bytes()),
                             is_canary)) {
      return false;
    }
  }
  return true;
}

// The baseline runs in the source's process: a PyTorch module.
Task<Result<Finding>> CpuTestRig::call_source(std::size_t set, CallTiming& timing) {
  EagerRun run =
      CO_TRY(co_await source_.run_baseline(with_draw(case_, seeds_[set]), seeds_[set].seed));
  for (std::size_t i = 0; i < case_.outputs.size() && i < run.outputs.size(); ++i) {
    auto into = payload(side(Who::baseline).outputs[set], output_places_[i], run.outputs[i].size());
    std::ranges::copy(run.outputs[i], into.begin());
  }
  timing.wall_ns = static_cast<std::int64_t>(run.ns);
  timing.cpu_ns = timing.wall_ns * static_cast<std::int64_t>(threads_);  // by its own clock
  timing.awake_ns = timing.wall_ns;
  last_called_[set] = Who::baseline;
  co_return Finding{};
}

Task<Result<Finding>> CpuTestRig::call_timed(Who who, std::size_t set, CallTiming& timing) {
  if (!side(who).executor) co_return co_await call_source(set, timing);
  CallHooks hooks{.before_go = [this, set] { reveal(set); }, .at_done = {}};
  if (who == Who::candidate) {
    samples_[set].clear();
    hooks.at_done = [this, set] { sample_outputs(set); };
  }
  Finding found =
      CO_TRY(co_await side(who).executor->call(set, limits_.call, timing, std::move(hooks)));
  withhold(set);
  last_called_[set] = who;
  if (found.ok() && who == Who::candidate) {
    hidden_work_.add(timing, threads_);
    bool late = !timing.fell_asleep || !samples_unchanged(set) || hidden_work_.is_proven();
    if (late) found = deferred_work(timing);
  }
  co_return in_this_case(std::move(found));
}

Task<Result<Finding>> CpuTestRig::call(Who who, std::size_t set) {
  poison_outputs(who, set);
  poison_scratch(who);
  CallTiming timing;
  Finding found = CO_TRY(co_await call_timed(who, set, timing));
  if (!found.ok()) co_return found;
  if (!guards_hold(who, set)) {
    co_return in_this_case(
        finding(Verdict::out_of_bounds, "it wrote beside an output, within the same page"));
  }
  co_return Finding{};
}

Task<Result<std::vector<OutputReport>>> CpuTestRig::compare_outputs(
    std::size_t set, const std::vector<Expected>& expected,
    const std::vector<Tolerance>& tolerances) {
  const SharedFile& file = side(last_called_[set]).outputs[set];
  std::vector<OutputReport> reports;
  for (std::size_t i = 0; i < case_.outputs.size(); ++i) {
    const Tensor& tensor = case_.outputs[i];
    reports.push_back(compare(tensor, payload(file, output_places_[i], tensor.bytes()), expected[i],
                              tolerances[i], poison_));
  }
  co_return reports;
}

Task<Result<std::uint64_t>> CpuTestRig::digest(std::size_t set) {
  const SharedFile& file = side(last_called_[set]).outputs[set];
  TraceHash hash;
  for (std::size_t i = 0; i < case_.outputs.size(); ++i) {
    auto bytes = payload(file, output_places_[i], case_.outputs[i].bytes());
    hash.mix(std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
  }
  co_return hash.value();
}

// Baseline and candidate alternate call by call, on sets that are half a rotation apart, so that
// neither finds its input in a cache because of the other. Which one begins alternates by round.
std::vector<CpuTestRig::Turn> CpuTestRig::turns_of_round(bool candidate_first) const {
  const std::size_t sets = inputs_.size();
  std::vector<Turn> turns;
  for (std::size_t step = 0; step < 2 * sets; ++step) {
    const bool is_candidate = (step % 2 == 0) == candidate_first;
    turns.push_back({is_candidate ? Who::candidate : Who::baseline,
                     (step / 2 + (is_candidate ? sets / 2 : 0)) % sets});
  }
  return turns;
}

Task<Result<Finding>> CpuTestRig::take_turns(std::vector<Turn>& turns, Round& round) {
  CallTiming timing;
  std::vector<Turn> disturbed;
  for (const Turn& turn : turns) {
    poison_scratch(turn.who);
    Finding found = CO_TRY(co_await call_timed(turn.who, turn.set, timing));
    if (!found.ok()) co_return found;
    // Time that the executor spent off its core is not the kernel's. If every try is disturbed, the
    // processor time is used instead, which is never too short (it includes waking up and falling
    // asleep). With several threads it is unknown which one the others wait for.
    const std::int64_t busy_ns = threads_ == 1 ? timing.cpu_ns : timing.wall_ns;
    (turn.who == Who::candidate ? round.candidate_ns : round.baseline_ns)[turn.set] =
        static_cast<double>(std::max<std::int64_t>(std::min(timing.wall_ns, busy_ns), 1));
    if (timing.wall_ns > busy_ns + busy_ns / 32 + 3'000) disturbed.push_back(turn);
  }
  turns = std::move(disturbed);
  co_return Finding{};
}

// The candidate gets a new input: it could know the answer to the old one. The baseline's is
// written again, so that it is as near to the cores.
Task<Result<void>> CpuTestRig::prepare_again(const std::vector<Turn>& turns,
                                             std::vector<bool>& redrawn) {
  for (const Turn& turn : turns) {
    const bool is_candidate = turn.who == Who::candidate;
    const std::uint64_t seed = is_candidate ? random_.next() : seeds_[turn.set].seed;
    CO_TRY(co_await draw(turn.set, {seed, seeds_[turn.set].draw}));
    poison_outputs(turn.who, turn.set);
    if (is_candidate) redrawn[turn.set] = true;
  }
  co_return Result<void>();
}

void CpuTestRig::compare_round(const std::vector<double>& scales,
                               const std::vector<Tolerance>& tolerances, Round& round) {
  round.outputs.resize(case_.outputs.size());
  for (std::size_t set = 0; set < inputs_.size(); ++set) {
    if (!guards_hold(Who::candidate, set)) {
      round.finding = in_this_case(finding(Verdict::out_of_bounds, "it wrote beside an output"));
    } else if (!samples_unchanged(set)) {
      round.finding = in_this_case(
          finding(Verdict::deferred_work, "an output was written long after its call was done"));
    }
    for (std::size_t i = 0; i < case_.outputs.size(); ++i) {
      const Tensor& tensor = case_.outputs[i];
      auto got = payload(side(Who::candidate).outputs[set], output_places_[i], tensor.bytes());
      auto base = payload(side(Who::baseline).outputs[set], output_places_[i], tensor.bytes());
      merge(round.outputs[i],
            compare_with_baseline(tensor, got, base, scales[i], tolerances[i], poison_));
    }
  }
}

// Disturbed calls are repeated at the end, when their memory is no longer in the caches.
Task<Result<Round>> CpuTestRig::time_round(const std::vector<double>& scales,
                                           const std::vector<Tolerance>& tolerances) {
  const std::size_t sets = inputs_.size();
  Round round;
  round.baseline_ns.resize(sets);
  round.candidate_ns.resize(sets);
  const bool candidate_first = rounds_++ % 2 == 1;
  // Both, although the baseline is trusted: what was just written is nearer to the cores.
  for (std::size_t set = 0; set < sets; ++set) {
    poison_outputs(candidate_first ? Who::candidate : Who::baseline, set);
    poison_outputs(candidate_first ? Who::baseline : Who::candidate, set);
    samples_[set].clear();
  }
  std::vector<Turn> turns = turns_of_round(candidate_first);
  std::size_t repeated = 0;
  std::vector<bool> redrawn(sets, false);
  constexpr int kMaxTries = 3;
  for (int tries = 1; tries <= kMaxTries && !turns.empty(); ++tries) {
    if (tries > 1) {
      repeated += turns.size();
      CO_TRY(co_await prepare_again(turns, redrawn));
    }
    round.finding = CO_TRY(co_await take_turns(turns, round));
    if (!round.finding.ok()) co_return round;
  }
  // The baseline's output for an input that was drawn for the candidate.
  for (std::size_t set = 0; set < sets; ++set) {
    if (!redrawn[set]) continue;
    poison_scratch(Who::baseline);
    CallTiming timing;
    round.finding = CO_TRY(co_await call_timed(Who::baseline, set, timing));
    if (!round.finding.ok()) co_return round;
  }
  round.disturbed = static_cast<double>(repeated) / static_cast<double>(2 * sets + repeated);
  compare_round(scales, tolerances, round);
  co_return round;
}

Task<Result<Finding>> CpuTestRig::count(std::string& into) {
  Result<CounterValues> counted;
  auto counters = open_counters();
  if (counters) {
    Finding found = CO_TRY(co_await count_calls(std::move(*counters), counted));
    if (!found.ok()) co_return found;
  } else {
    counted = std::unexpected(counters.error());
  }
  into = compact_json(counters_json(counted));
  co_return Finding{};
}

// That this machine has no counters is remembered; a refusal may be lifted later.
Result<PerfCounters> CpuTestRig::open_counters() {
  if (no_counters_) return std::unexpected(*no_counters_);
  auto counters = PerfCounters::open(side(Who::candidate).executor->pid());
  if (!counters && counters.error().code == ErrorCode::device_missing) {
    no_counters_ = counters.error();
  }
  return counters;
}

// On a different set for each call, so that its data is not in the caches, as in a timing.
Task<Result<Finding>> CpuTestRig::count_calls(PerfCounters counters,
                                              Result<CounterValues>& counted) {
  constexpr std::size_t kMaxCalls = 5;
  constexpr std::int64_t kMaxNs = 100'000'000;  // one slow call is enough
  const std::size_t sets = std::min(kMaxCalls, inputs_.size());
  for (std::size_t set = 0; set < sets; ++set) poison_outputs(Who::candidate, set);
  Counting counting{std::move(counters), {}};
  std::vector<CounterValues> calls;
  const std::int64_t deadline = stopwatch_ns() + kMaxNs;
  for (std::size_t set = 0; set < sets && (set == 0 || stopwatch_ns() < deadline); ++set) {
    poison_scratch(Who::candidate);
    Finding found = CO_TRY(co_await call_counted(set, counting));
    if (!found.ok()) co_return found;
    if (counting.counted) {
      calls.push_back(*counting.counted);
    } else {
      counted = std::unexpected(counting.counted.error());
    }
  }
  if (!calls.empty()) counted = median_of(calls);
  co_return Finding{};
}

// Its time and output are not checked: reading counters adds to the candidate's processor time.
Task<Result<Finding>> CpuTestRig::call_counted(std::size_t set, Counting& counting) {
  auto start = [this, set, &counting] {
    reveal(set);
    counting.counters.start();
  };
  auto stop = [&counting] { counting.counted = counting.counters.stop(); };
  CallHooks hooks{.before_go = start, .at_done = stop};
  CallTiming timing;
  Finding found = CO_TRY(
      co_await side(Who::candidate).executor->call(set, limits_.call, timing, std::move(hooks)));
  withhold(set);
  last_called_[set] = Who::candidate;
  co_return in_this_case(std::move(found));
}

}  // namespace specgen
