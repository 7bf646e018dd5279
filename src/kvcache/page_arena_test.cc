#include "kvcache/page_arena.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cstring>

#include "runtime/stopwatch.h"

namespace specgen {
namespace {

using Page = PageArena::Page;

std::unique_ptr<PageArena> open_arena(std::size_t pages, std::size_t ready) {
  auto arena = PageArena::open({.max = {pages * PageArena::kPageBytes},
                                .ready_at_open = {ready * PageArena::kPageBytes},
                                .ready_per_s = GiB(64)});
  EXPECT_TRUE(arena);
  return std::move(*arena);
}

bool is_present(const PageArena& arena, Page page) {
  unsigned char resident = 0;
  mincore(arena.at(page), 4096, &resident);
  return (resident & 1) != 0;
}

TEST(PageArena, handed_out_pages_are_present) {
  auto arena = open_arena(8, 8);
  std::vector<Page> pages;
  ASSERT_TRUE(arena->take(8, pages));
  for (Page page : pages) {
    EXPECT_TRUE(is_present(*arena, page));
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(arena->at(page)) % PageArena::kPageBytes, 0u);
  }
  EXPECT_FALSE(arena->take(1, pages));
  EXPECT_EQ(pages.size(), 8u);
  arena->put(pages);
  EXPECT_EQ(arena->ready(), 8u);
}

TEST(PageArena, take_is_all_or_none) {
  auto arena = open_arena(4, 4);
  std::vector<Page> pages;
  EXPECT_FALSE(arena->take(5, pages));
  EXPECT_TRUE(pages.empty());
  EXPECT_TRUE(arena->take(4, pages));
}

TEST(PageArena, the_rest_becomes_ready_by_itself) {
  auto arena = open_arena(16, 0);
  for (Spin waiting; arena->ready() < 16;) waiting.pause();
  std::vector<Page> pages;
  ASSERT_TRUE(arena->take(16, pages));
  for (Page page : pages) EXPECT_TRUE(is_present(*arena, page));
}

TEST(PageArena, given_back_memory_is_free_when_it_returns) {
  auto arena = open_arena(8, 8);
  std::vector<Page> pages;
  ASSERT_TRUE(arena->take(8, pages));
  for (Page page : pages) std::memset(arena->at(page), 'x', PageArena::kPageBytes);
  EXPECT_EQ(arena->shrink(6), 6u);
  EXPECT_EQ(arena->over_budget(), 6u);
  arena->put(std::span(pages).first(6));
  EXPECT_EQ(arena->over_budget(), 0u);
  std::vector<Page> none;
  EXPECT_FALSE(arena->take(1, none));  // two are out, and the budget is two
  arena->give_back();
  EXPECT_EQ(arena->budget(), 2u);
  EXPECT_EQ(arena->ready(), 0u);
  for (std::size_t i = 0; i < 8; ++i) EXPECT_EQ(is_present(*arena, pages[i]), i >= 6) << i;
  EXPECT_EQ(*arena->at(pages[7]), 'x');
}

TEST(PageArena, restored_pages_are_empty) {
  auto arena = open_arena(4, 4);
  std::vector<Page> pages;
  ASSERT_TRUE(arena->take(4, pages));
  for (Page page : pages) std::memset(arena->at(page), 'x', PageArena::kPageBytes);
  arena->put(pages);
  EXPECT_EQ(arena->shrink(100), 4u);
  arena->give_back();
  EXPECT_EQ(arena->budget(), 0u);
  arena->grow(100);
  EXPECT_EQ(arena->budget(), 4u);
  for (Spin waiting; arena->ready() < 4;) waiting.pause();
  pages.clear();
  ASSERT_TRUE(arena->take(4, pages));
  for (Page page : pages) EXPECT_EQ(*arena->at(page), 0);
}

}  // namespace
}  // namespace specgen
