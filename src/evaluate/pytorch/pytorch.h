#pragma once
// PyTorch tasks: the header that others include. A problem file is opened once per run:
//
//   Python python = CO_TRY(co_await find_python(processes, "python3"));
//   PythonHost host{.loop = loop, .driver = driver, .processes = processes, .wrap = ..., .python = python};
//   auto task = CO_TRY(co_await open_python_task(host, {.file = "level1/19_ReLU.py", .seed = ...}));
//
// Native candidates (C++, or CUDA device code) are judged like those of native tasks: task->kernel_task() is the task,
// task->only_case() its shape, and *task the InputSource that replaces data.h and reference.cc; the eager module
// (time_eager) is the baseline, there is no baseline.cc. cpu_signature() is what a CPU candidate must define.
//
// ModelNew candidates are judged by judge_model_new(), which needs nothing else.

#include "evaluate/judge/input_source.h"
#include "evaluate/pytorch/model_new.h"
#include "evaluate/pytorch/python_task.h"
#include "evaluate/task/signature.h"
