// smelt kernel 1
// op softmax T=f32 B=1
// target cpu
// holds D % 4 == 0, D <= 8192, B[0] >= 1
// scratch 64*((4*D + 63)/64)
// threads 1

int kernel;
