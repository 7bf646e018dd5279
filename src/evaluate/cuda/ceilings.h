#pragma once
// The peak rates of a GPU, measured with our own kernels in the judge's context. Takes about half a
// second and 1 GiB of memory; blocks, so call it on the device's WorkerThread.

#include <string>
#include <string_view>

#include "evaluate/cuda/judge_gpu.h"
#include "evaluate/judge/device.h"

namespace specgen {

extern const std::string_view kCeilingKernelSource;

// How much faster the best matrix instructions of an architecture are than mma.sync, which we
// measure with: those of Hopper and later (wgmma, tcgen05) need their own descriptors and layouts.
// Errs on the high side, so that no correct candidate is rejected for using them.
double matrix_headroom(int capability_major);

Result<Ceilings> measure_cuda_ceilings(JudgeGpu& gpu, const std::string& binary);

}  // namespace specgen
