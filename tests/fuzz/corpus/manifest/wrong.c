
// mine
// smelt kernel 2
// target gpu
// holds E == 
// scratch (
