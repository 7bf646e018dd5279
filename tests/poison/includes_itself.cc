// hack: includes itself for ever
// task: tasks/softmax
// verdict: rejected
#include "candidate.cc"
