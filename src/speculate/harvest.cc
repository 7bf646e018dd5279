#include "speculate/harvest.h"

#include <algorithm>
#include <optional>
#include <set>

#include "base/hash.h"
#include "base/text.h"
#include "generate/answer/extract.h"
#include "generate/answer/fences.h"
#include "generate/answer/kernel_shape.h"
#include "generate/answer/search_replace.h"
#include "schedule/evaluation_pool.h"
#include "schedule/normalised_source.h"
#include "speculate/bare_code.h"

namespace specgen {
namespace {

constexpr std::size_t kMaxRemembered = 4096;  // drafts of one stream

// Whether there is a top-level function or class that is not a Triton function itself.
bool has_launcher(std::string_view code) {
  bool is_device_code = false;  // by the decorators before a definition
  while (!code.empty()) {
    std::string_view line = first_line(code);
    code.remove_prefix(std::min(line.size() + 1, code.size()));
    if (line.starts_with('@')) {
      is_device_code = is_device_code || line.starts_with("@triton.jit");
    } else if (line.starts_with("def ") || line.starts_with("class ")) {
      if (!is_device_code) return true;
      is_device_code = false;
    }
  }
  return false;
}

// Complete programs for other harnesses: Triton functions or CUDA source in Python, with the function that launches
// them, and CUDA files with host code.
bool is_foreign_kernel(std::string_view code) {
  bool is_triton = code.contains("@triton.jit") && code.contains("import triton");
  bool is_inline_cuda = code.contains("load_inline(") && code.contains("__global__");
  if (is_triton || is_inline_cuda) return has_launcher(code);
  return code.contains("__global__") && code.contains("<<<") && code.contains("#include");
}

}  // namespace

std::string_view to_string(HarvestKind kind) {
  switch (kind) {
    case HarvestKind::native:
      return "native";
    case HarvestKind::model_new:
      return "model_new";
    case HarvestKind::foreign:
      return "foreign";
  }
  return "";
}

class Harvester::State {
 public:
  State(std::string backend, Foreign foreign) : backend_(std::move(backend)), foreign_(foreign) {}

  void feed(std::string_view text, std::vector<HarvestedKernel>& found) {
    while (!text.empty()) {
      std::size_t end = text.find('\n');
      std::string_view part = text.substr(0, end);
      text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
      bool is_complete = end != std::string_view::npos;
      // A line that comes complete in one delta need not be copied.
      if (line_.empty() && is_complete && !line_is_too_long_) {
        take_line(part, found);
        continue;
      }
      if (line_.size() + part.size() > kMaxKernelSize.count) line_is_too_long_ = true;
      if (!line_is_too_long_) line_ += part;
      left_out_ += line_is_too_long_ ? part.size() : 0;
      if (is_complete) end_line(found);
    }
  }

  void finish(std::vector<HarvestedKernel>& found) {
    if (!line_.empty() || line_is_too_long_) {
      end_line(found);
      --position_;  // it had no line end
    }
    if (!fence_ && bare_.is_open()) {
      if (bare_.is_complete()) end_block(position_, false, found);
      bare_.reset();
    }
    drop_block();
  }

  std::uint64_t repeated() const { return repeated_; }

 private:
  void end_line(std::vector<HarvestedKernel>& found) {
    std::string line = std::move(line_);
    line_.clear();
    if (line_is_too_long_) {
      // No line of a kernel is as long as the largest kernel.
      position_ += left_out_;
      block_is_too_large_ = true;
    }
    line_is_too_long_ = false;
    left_out_ = 0;
    take_line(line, found);
  }

  // One complete line, without its end.
  void take_line(std::string_view line, std::vector<HarvestedKernel>& found) {
    const std::size_t begin = position_;
    position_ += line.size() + 1;
    if (auto fence = read_fence(line)) {
      switch (effect_of(*fence, fence_ ? &*fence_ : nullptr)) {
        case FenceEffect::closes:
          end_block(begin, true, found);
          fence_.reset();
          return;
        case FenceEffect::opens:
          if (!fence_ && bare_.is_open() && bare_.is_complete()) end_block(begin, false, found);
          bare_.reset();
          drop_block();
          fence_ = fence;
          fence_->info = {};  // it points into the line
          block_begin_ = position_;
          return;
        case FenceEffect::none:
          break;
      }
    }
    if (fence_) {
      add_to_block(line);
    } else {
      take_bare_line(line, begin, found);
    }
  }

  void take_bare_line(std::string_view line, std::size_t begin,
                      std::vector<HarvestedKernel>& found) {
    switch (bare_.add(line)) {
      case BareCode::Verdict::prose:
        return;
      case BareCode::Verdict::ended:
        end_block(begin, false, found);
        break;
      case BareCode::Verdict::broken:
        drop_block();
        break;
      case BareCode::Verdict::begins:
        drop_block();
        block_begin_ = begin;
        add_to_block(line);
        return;
      case BareCode::Verdict::continues:
        add_to_block(line);
        return;
    }
    // The line that ended one piece of code may begin another.
    if (bare_.add(line) == BareCode::Verdict::begins) {
      block_begin_ = begin;
      add_to_block(line);
    }
  }

  void add_to_block(std::string_view line) {
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (fence_) {
      std::size_t space = std::min(line.find_first_not_of(" \t"), line.size());
      line.remove_prefix(std::min(space, fence_->indent));
    }
    if (block_.size() + line.size() + 1 > kMaxKernelSize.count) block_is_too_large_ = true;
    if (block_is_too_large_) {
      block_.clear();
    } else {
      block_.append(line).append(1, '\n');
    }
  }

  void drop_block() {
    block_.clear();
    block_is_too_large_ = false;
  }

  void end_block(std::size_t end, bool fenced, std::vector<HarvestedKernel>& found) {
    std::optional<HarvestKind> kind;
    if (!block_is_too_large_ && !block_.empty()) kind = kind_of(block_);
    if (kind && is_new(*kind)) {
      HarvestedKernel kernel{.source = {}, .kind = *kind, .begin = block_begin_};
      kernel.end = end;
      kernel.fenced = fenced;
      if (!fenced) {
        // Blank lines after the code do not belong to it.
        std::size_t length = block_.find_last_not_of(" \t\n") + 1;
        kernel.end -= std::min(kernel.end - kernel.begin, block_.size() - length - 1);
        block_.resize(length);
        block_ += '\n';
      }
      kernel.source = std::move(block_);
      found.push_back(std::move(kernel));
    }
    drop_block();
  }

  std::optional<HarvestKind> kind_of(std::string_view code) const {
    KernelShape shape = shape_of(code, backend_);
    if (shape.elided || shape.cut_off || !find_hunks(code).hunks.empty()) return std::nullopt;
    if (shape.native) return HarvestKind::native;
    if (shape.python) return HarvestKind::model_new;
    if (foreign_ == Foreign::take && is_foreign_kernel(code)) return HarvestKind::foreign;
    return std::nullopt;
  }

  bool is_new(HarvestKind kind) {
    bool is_python = kind == HarvestKind::model_new || block_.contains("\nimport ") ||
                     block_.starts_with("import ");
    TraceHash hash;
    hash.mix(is_python ? without_python_comments(block_) : normalised_source(block_));
    if (seen_.size() >= kMaxRemembered) seen_.clear();
    bool fresh = seen_.insert(hash.value()).second;
    repeated_ += fresh ? 0 : 1;
    return fresh;
  }

  std::string backend_;
  Foreign foreign_;
  std::size_t position_ = 0;  // of the line that is open
  std::string line_;          // the part that has arrived
  std::size_t left_out_ = 0;  // bytes of it, if it is too long
  bool line_is_too_long_ = false;

  std::optional<Fence> fence_;  // of the block that is open
  BareCode bare_;               // outside of fences
  std::string block_;           // its lines, without the fence's indent
  std::size_t block_begin_ = 0;
  bool block_is_too_large_ = false;
  std::set<std::uint64_t> seen_;  // hashes of the reported kernels
  std::uint64_t repeated_ = 0;
};

Harvester::Harvester(std::string backend, Foreign foreign)
    : state_(std::make_unique<State>(std::move(backend), foreign)) {}
Harvester::Harvester(Harvester&&) noexcept = default;
Harvester::~Harvester() = default;

void Harvester::feed(std::string_view reasoning, std::vector<HarvestedKernel>& found) {
  state_->feed(reasoning, found);
}

void Harvester::finish(std::vector<HarvestedKernel>& found) {
  state_->finish(found);
}

std::uint64_t Harvester::repeated() const {
  return state_->repeated();
}

}  // namespace specgen
