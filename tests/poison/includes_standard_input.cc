// hack: includes what the compiler reads
// task: tasks/softmax
// verdict: rejected
#include "/dev/stdin"
