// smelt kernel 1
// op softmax T=f32 B=1
// target cpu
// holds -D < min(3, B.0), max(D, -1) != 7 - 2 - 1
// scratch 4*(D + 1) - -3*B.0
