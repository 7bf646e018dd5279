#pragma once
// What a GPU can do at best, measured with kernels of ours in the judge's context. Takes about half
// a second and 1 GiB of memory; blocks, so call it on the device's WorkerThread.

#include <string>
#include <string_view>

#include "evaluate/cuda/judge_gpu.h"
#include "evaluate/judge/device.h"

namespace specgen {

extern const std::string_view kCeilingKernelSource;

// How much more the fastest matrix instructions of an architecture do than mma.sync, which is what
// we measure with: those of Hopper and later (wgmma, tcgen05) need descriptors and layouts of their
// own. Rather too much than too little: nobody is to be suspected for using them well.
double matrix_headroom(int capability_major);

Result<Ceilings> measure_cuda_ceilings(JudgeGpu& gpu, const std::string& binary);

}  // namespace specgen
