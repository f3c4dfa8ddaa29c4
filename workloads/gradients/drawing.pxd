from libc.stdint cimport uint32_t

from workloads.kernels cimport draw_words, shape_floats

cpdef draw_integers(uint32_t[::1] words, unsigned long long first, unsigned long long key0, unsigned long long key1)
cpdef draw_floats(uint32_t[::1] words, unsigned long long first, unsigned long long key0, unsigned long long key1)
