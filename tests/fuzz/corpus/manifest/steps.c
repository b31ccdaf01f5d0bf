// smelt kernel 1
// op softmax T=f32 B=1
// target cuda sm_90a
// buffer a f32[]
// launch f grid(,) args(x,
// repeat t <
// end end
// launch f args(x, y, B[0]) shared(ceil(D, B.0))
