// smelt kernel 1
// op softmax T=f32 B=1
// target cpu
// holds ä == 1
// threads 0
// target cpu
// words
