// smelt kernel 1
// op softmax T=f32 B=1
// target opencl
// holds D >= 1
// buffer part f32[B.0*2] zero
// buffer kept i64[ceil(D, 8)]
// launch first grid(ceil(B.0, 4), 2) block(32, 4) shared(4*D) args(x, part, B.0)
// repeat t < D
// launch next block(max(1, D)) args(part, kept, y, t, D)
// end
