#include "evaluate/cuda/device_memory.h"

#include <gtest/gtest.h>

namespace specgen {
namespace {

TEST(DeviceMemory, places_a_tensor_at_the_end_or_the_start_of_its_piece) {
  constexpr std::size_t kPiece = 2 << 20;
  EXPECT_EQ(place_in_piece(kPiece, kPiece, true), 0U);
  EXPECT_EQ(place_in_piece(kPiece, 1024, true), kPiece - 1024);
  EXPECT_EQ(place_in_piece(kPiece, 1000, true), kPiece - 1024) << "aligned, so 24 bytes are left";
  EXPECT_EQ(place_in_piece(kPiece, 1000, false), 0U);
  EXPECT_EQ(round_up(1, kPiece), kPiece);
  EXPECT_EQ(round_up(kPiece, kPiece), kPiece);
}

TEST(Rotation, takes_enough_sets_to_clear_the_cache_within_the_memory) {
  constexpr std::uint64_t kCache = 50 << 20, kMemory = std::uint64_t{140} << 30;
  EXPECT_EQ(cuda_sets_for(1 << 20, kCache, kMemory), 12U) << "flushing does the rest";
  EXPECT_EQ(cuda_sets_for(50 << 20, kCache, kMemory), 4U);
  EXPECT_EQ(cuda_sets_for(15 << 20, kCache, kMemory), 11U);
  EXPECT_EQ(cuda_sets_for(std::uint64_t{20} << 30, kCache, kMemory), 2U);
  EXPECT_EQ(cuda_sets_for(kMemory, kCache, kMemory), 1U);
  EXPECT_EQ(cuda_sets_for(0, kCache, kMemory), 12U);
}

}  // namespace
}  // namespace specgen
