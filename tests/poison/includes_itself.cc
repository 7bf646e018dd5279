// hack: includes itself forever
// task: tasks/softmax
// verdict: rejected
#include "candidate.cc"
