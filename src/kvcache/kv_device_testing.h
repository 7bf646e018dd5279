#pragma once
// A device of plain memory: dropped blocks lose their bytes, copies happen only in wait(), and a copy on an unmapped
// block is an assertion failure.

#include <array>
#include <atomic>
#include <cstring>
#include <memory>
#include <vector>

#include "base/assert.h"
#include "kvcache/device_blocks.h"

namespace specgen::kv_testing {

class PlainDevice final : public DeviceBlocks {
 public:
  explicit PlainDevice(std::size_t blocks) : blocks_(blocks) {
    for (auto& buffer : buffers_) buffer.resize(kBufferBytes);
  }

  Result<void> make(std::uint32_t block) override {
    if (made >= max_made) return fail(ErrorCode::device_failed, "no memory left");
    blocks_.at(block) = std::make_unique<char[]>(kBlockBytes);
    ++made;
    return {};
  }
  void drop(std::uint32_t block) override {
    SG_ASSERT(blocks_.at(block), "drop() of an unmapped block");
    blocks_.at(block).reset();
    --made;
  }
  std::span<char> buffer(std::size_t number) override { return buffers_.at(number); }
  Result<void> copy_in(std::size_t buffer, std::size_t at, std::uint64_t to,
                       std::size_t bytes) override {
    begun_.at(buffer).push_back({true, at, to, bytes});
    return {};
  }
  Result<void> copy_out(std::size_t buffer, std::size_t at, std::uint64_t from,
                        std::size_t bytes) override {
    begun_.at(buffer).push_back({false, at, from, bytes});
    return {};
  }
  Result<void> wait(std::size_t buffer) override {
    if (fails) return fail(ErrorCode::device_failed, "as configured by the test");
    for (const Copy& copy : begun_.at(buffer)) {
      ++copies;
      for (std::size_t done = 0; done < copy.bytes;) {
        const std::uint64_t at = copy.device + done;
        const std::size_t count =
            std::min<std::size_t>(copy.bytes - done, kBlockBytes - at % kBlockBytes);
        SG_ASSERT(blocks_.at(at / kBlockBytes), "a copy to or from an unmapped block");
        char* device = blocks_[at / kBlockBytes].get() + at % kBlockBytes;
        char* host = buffers_[buffer].data() + copy.at + done;
        if (copy.is_in) {
          std::memcpy(device, host, count);
        } else {
          std::memcpy(host, device, count);
        }
        done += count;
      }
    }
    begun_.at(buffer).clear();
    return {};
  }
  char& byte(std::uint64_t at) { return blocks_.at(at / kBlockBytes)[at % kBlockBytes]; }

  std::atomic<std::size_t> made = 0;
  std::atomic<std::size_t> max_made = 1000;
  std::atomic<std::size_t> copies = 0;
  std::atomic<bool> fails = false;

 private:
  struct Copy {
    bool is_in;
    std::size_t at;
    std::uint64_t device;
    std::size_t bytes;
  };
  std::vector<std::unique_ptr<char[]>> blocks_;
  std::array<std::vector<char>, kBuffers> buffers_;
  std::array<std::vector<Copy>, kBuffers> begun_;
};

}  // namespace specgen::kv_testing
