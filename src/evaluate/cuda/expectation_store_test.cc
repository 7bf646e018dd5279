#include "evaluate/cuda/expectation_store.h"

#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <span>

namespace specgen {
namespace {

// A fake driver whose device memory is host memory.
CudaDriver driver_on_host() {
  CudaDriver driver;
  driver.mem_create = [](CuMemoryHandle* handle, std::size_t, const CuAllocationProperties*,
                         unsigned long long) {
    *handle = 1;
    return kCudaOk;
  };
  driver.mem_release = [](CuMemoryHandle) { return kCudaOk; };
  driver.mem_address_reserve = [](CuAddress* address, std::size_t bytes, std::size_t, CuAddress,
                                  unsigned long long) {
    *address = reinterpret_cast<CuAddress>(new std::byte[bytes]);
    return kCudaOk;
  };
  driver.mem_address_free = [](CuAddress address, std::size_t) {
    delete[] reinterpret_cast<std::byte*>(address);
    return kCudaOk;
  };
  driver.mem_map = [](CuAddress, std::size_t, std::size_t, CuMemoryHandle, unsigned long long) {
    return kCudaOk;
  };
  driver.mem_unmap = [](CuAddress, std::size_t) { return kCudaOk; };
  driver.mem_set_access = [](CuAddress, std::size_t, const CuAccess*, std::size_t) {
    return kCudaOk;
  };
  driver.memcpy_htod = [](CuAddress to, const void* from, std::size_t bytes, CuStream) {
    std::memcpy(reinterpret_cast<void*>(to), from, bytes);
    return kCudaOk;
  };
  driver.stream_synchronize = [](CuStream) { return kCudaOk; };
  return driver;
}

Expected expectation(std::uint64_t key, std::vector<double> values) {
  Expected expected;
  expected.key = key;
  for (double value : values) expected.scale.push_back(value + 0.5);
  expected.value = std::move(values);
  return expected;
}

std::vector<double> at(CuAddress address, std::int64_t count) {
  std::span<const double> values(reinterpret_cast<const double*>(address),
                                 static_cast<std::size_t>(count));
  return {values.begin(), values.end()};
}

class ExpectationStoreTest : public testing::Test {
 protected:
  const CudaDriver driver_ = driver_on_host();
  const CudaDeviceFacts device_{.granularity = 2 << 20};
  ExpectationStore store_{driver_, device_, nullptr, std::size_t{130} << 20};  // two chunks
};

TEST_F(ExpectationStoreTest, stores_by_key) {
  ASSERT_TRUE(store_.put(expectation(1, {1, 2, 3})));
  Expected samples = expectation(2, {4, 5});
  samples.at = {70, 90};
  ASSERT_TRUE(store_.put(samples));
  const ExpectationStore::Kept* first = store_.find(1);
  const ExpectationStore::Kept* second = store_.find(2);
  ASSERT_TRUE(first && second);
  EXPECT_EQ(at(first->values, first->count), (std::vector<double>{1, 2, 3}));
  EXPECT_EQ(at(first->scales, first->count), (std::vector<double>{1.5, 2.5, 3.5}));
  EXPECT_EQ(first->indices, 0U);
  EXPECT_EQ(at(second->values, second->count), (std::vector<double>{4, 5}));
  EXPECT_EQ(reinterpret_cast<const std::int64_t*>(second->indices)[1], 90);
  EXPECT_FALSE(store_.find(3));
}

TEST_F(ExpectationStoreTest, stores_nothing_without_a_key) {
  auto passing = store_.put(expectation(0, {1, 2}));
  ASSERT_TRUE(passing);
  EXPECT_EQ(at(passing->values, passing->count), (std::vector<double>{1, 2}));
  EXPECT_FALSE(store_.find(0));
}

TEST_F(ExpectationStoreTest, drops_old_entries_when_it_is_full) {
  const std::vector<double> many(3 << 20, 1.0);  // 48 MiB with their scales: one per chunk
  ASSERT_TRUE(store_.put(expectation(1, many)));
  ASSERT_TRUE(store_.put(expectation(2, many)));
  EXPECT_TRUE(store_.find(1) && store_.find(2));
  ASSERT_TRUE(store_.put(expectation(3, {7})));
  ASSERT_TRUE(store_.put(expectation(4, many)));
  EXPECT_TRUE(store_.find(4));
  EXPECT_FALSE(store_.find(1));
}

TEST_F(ExpectationStoreTest, accepts_one_that_is_larger_than_its_limit) {
  ASSERT_TRUE(store_.put(expectation(1, {1})));
  auto huge = store_.put(expectation(2, std::vector<double>(10 << 20, 2.0)));
  ASSERT_TRUE(huge);
  EXPECT_EQ(at(huge->values, 3), (std::vector<double>{2, 2, 2}));
  EXPECT_FALSE(store_.find(1));
}

}  // namespace
}  // namespace specgen
