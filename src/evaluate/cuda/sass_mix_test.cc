#include "evaluate/cuda/sass_mix.h"

#include <gtest/gtest.h>

namespace specgen {
namespace {

constexpr std::string_view kListing = R"(
Fatbin elf code:
================
    code for sm_90a
        Function : _Z4copyPKfPf
    .headerflags    @"EF_CUDA_TEXMODE_UNIFIED"
        /*0000*/                   LDC R1, c[0x0][0x28] ;                /* 0x00000a00ff017b82 */
                                                                         /* 0x000fe20000000800 */
        /*0010*/              @!P0 LDG.E.128.CONSTANT R4, [R2.64] ;      /* 0x0 */
        /*0020*/                   LDG.E R5, [R2.64] ;
        /*0030*/                   STG.E.64 desc[UR4][R2.64], R4 ;
        /*0040*/                   FFMA R0, R1, R2, R3 ;
        /*0050*/                   LDL R0, [R1] ;
        /*0060*/                   NOP;
        Function : second
        /*0000*/                   HGMMA.64x64x16.F32 R24, gdesc[UR8], R24 ;
        /*0010*/                   LDG.E.U16 R5, [R2.64] ;
)";

TEST(SassMix, counts_instructions_by_kind_and_width) {
  auto mixes = read_sass(kListing);
  ASSERT_EQ(mixes.size(), 2U);
  EXPECT_EQ(mixes[0].function, "_Z4copyPKfPf");
  EXPECT_EQ(mixes[0].instructions, 6);
  EXPECT_EQ(mixes[0].counts,
            (std::map<std::string, int>{
                {"LDG.128", 1}, {"LDG.32", 1}, {"STG.64", 1}, {"FFMA", 1}, {"LDL", 1}}));
  EXPECT_EQ(mixes[1].counts, (std::map<std::string, int>{{"WGMMA", 1}, {"LDG.16", 1}}));
}

TEST(SassMix, remarks_on_spills_and_narrow_loads) {
  auto mixes = read_sass(kListing);
  ASSERT_EQ(mixes.size(), 2U);
  EXPECT_NE(remarks_on(mixes[0]).find("local memory"), std::string::npos);
  EXPECT_EQ(remarks_on(mixes[0]).find("global loads"), std::string::npos);
  EXPECT_NE(remarks_on(mixes[1]).find("global loads"), std::string::npos);
}

TEST(SassMix, is_empty_for_other_text) {
  EXPECT_TRUE(read_sass("").empty());
  EXPECT_TRUE(read_sass("cuobjdump fatal: no\n/*0000*/ FFMA ;").empty());
  EXPECT_EQ(read_sass("Function : x\n/*zz*/ FFMA\n/*00").at(0).instructions, 0);
}

}  // namespace
}  // namespace specgen
