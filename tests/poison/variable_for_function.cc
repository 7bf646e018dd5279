// hack: a variable where the function should be
// task: tasks/softmax
// verdict: compile_error
extern "C" const int softmax = 1;
