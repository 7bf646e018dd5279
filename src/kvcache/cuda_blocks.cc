#include "kvcache/cuda_blocks.h"

#include <array>
#include <vector>

#include "base/assert.h"
#include "evaluate/cuda/device_memory.h"
#include "evaluate/cuda/driver_api.h"

namespace specgen {
namespace {

class CudaBlocks final : public DeviceBlocks {
 public:
  CudaBlocks(const CudaDriver& driver, CudaDeviceFacts device, std::size_t blocks)
      : driver_(driver), device_(std::move(device)), is_real_(blocks) {}

  ~CudaBlocks() override {
    enter();
    for (std::uint32_t block = 0; block < is_real_.size(); ++block) drop(block);
    for (CuStream stream : streams_) {
      if (stream) driver_.stream_destroy(stream);
    }
    if (reserved_ != 0) driver_.mem_address_free(reserved_, reserved_bytes());
    // The buffers are freed with the context, unless others hold it.
    if (context_) driver_.primary_release(device_.handle);
  }

  Result<void> open() {
    // Block instead of spinning while a thread waits for a copy.
    driver_.primary_set_flags(device_.handle, kCuScheduleBlocking);
    TRY(driver_.check(driver_.primary_retain(&context_, device_.handle),
                      "cuDevicePrimaryCtxRetain"));
    enter();
    TRY(driver_.check(driver_.mem_address_reserve(&reserved_, reserved_bytes(), kBlockBytes, 0, 0),
                      "cuMemAddressReserve for the KV cache"));
    for (std::size_t i = 0; i < kBuffers; ++i) {
      // The device serialises copies of one direction; a stream per buffer shows when its copies are done.
      TRY(driver_.check(driver_.stream_create(&streams_[i], kCuStreamNonBlocking),
                        "cuStreamCreate"));
      void* memory = nullptr;
      TRY(driver_.check(driver_.mem_host_alloc(&memory, kBufferBytes, 0), "cuMemHostAlloc"));
      buffers_[i] = {static_cast<char*>(memory), kBufferBytes};
    }
    return {};
  }

  Result<void> make(std::uint32_t block) override {
    enter();
    auto piece = DevicePiece::create(driver_, device_.handle, kBlockBytes);
    if (!piece) return std::unexpected(std::move(piece.error().error));
    TRY(driver_.check(driver_.mem_map(address_of(block), kBlockBytes, 0, piece->handle(), 0),
                      "cuMemMap for the KV cache"));
    CuAccess access{.location = {.id = device_.handle}, .flags = kCuReadWrite};
    auto allowed = driver_.check(driver_.mem_set_access(address_of(block), kBlockBytes, &access, 1),
                                 "cuMemSetAccess");
    if (!allowed) {
      driver_.mem_unmap(address_of(block), kBlockBytes);
      return allowed;
    }
    is_real_[block] = true;
    return {};  // the mapping keeps the memory: releasing the handle now saves a call later
  }

  void drop(std::uint32_t block) override {
    if (!is_real_[block]) return;
    enter();
    driver_.mem_unmap(address_of(block), kBlockBytes);
    is_real_[block] = false;
  }

  std::span<char> buffer(std::size_t number) override { return buffers_[number]; }

  Result<void> copy_in(std::size_t buffer, std::size_t at, std::uint64_t to,
                       std::size_t bytes) override {
    enter();
    return driver_.check(
        driver_.memcpy_htod(reserved_ + to, buffers_[buffer].data() + at, bytes, streams_[buffer]),
        "a copy of the KV cache to the device");
  }

  Result<void> copy_out(std::size_t buffer, std::size_t at, std::uint64_t from,
                        std::size_t bytes) override {
    enter();
    return driver_.check(driver_.memcpy_dtoh(buffers_[buffer].data() + at, reserved_ + from, bytes,
                                             streams_[buffer]),
                         "a copy of the KV cache from the device");
  }

  Result<void> wait(std::size_t buffer) override {
    enter();
    return driver_.check(driver_.stream_synchronize(streams_[buffer]),
                         "waiting for a copy of the KV cache");
  }

 private:
  // The calling thread may not have the context yet.
  void enter() { driver_.ctx_set_current(context_); }
  std::size_t reserved_bytes() const { return is_real_.size() * kBlockBytes; }
  CuAddress address_of(std::uint32_t block) const { return reserved_ + block * kBlockBytes; }

  const CudaDriver& driver_;
  const CudaDeviceFacts device_;
  CuContext context_ = nullptr;
  CuAddress reserved_ = 0;
  std::vector<bool> is_real_;  // by block
  std::array<CuStream, kBuffers> streams_{};
  std::array<std::span<char>, kBuffers> buffers_{};
};

}  // namespace

Result<std::unique_ptr<DeviceBlocks>> open_cuda_blocks(int device, Bytes max) {
  const CudaDriver* driver = TRY(CudaDriver::load());
  CudaDeviceFacts facts = TRY(ask_cuda_device(*driver, device));
  const std::size_t blocks = max.count / DeviceBlocks::kBlockBytes;
  SG_ASSERT(blocks > 0 && DeviceBlocks::kBlockBytes % facts.granularity == 0,
            "a block must consist of whole pages");
  auto opened = std::make_unique<CudaBlocks>(*driver, std::move(facts), blocks);
  TRY(opened->open());
  return opened;
}

}  // namespace specgen
