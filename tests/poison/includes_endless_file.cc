// hack: includes /dev/zero
// task: tasks/softmax
// verdict: rejected
#include "/dev/zero"
