# The compiled bodies of products.py, whose docstrings say what each does.
from libc.stdint cimport uint8_t
from libc.string cimport memcpy

from workloads.kernels cimport data_of


cdef inline void add_products(uint8_t[::1] total, Py_ssize_t first, bytes frame, Py_ssize_t at, Py_ssize_t size,
                              const uint8_t[::1] products) noexcept:
    cdef uint8_t *into
    cdef uint8_t *data = data_of(frame) + at
    cdef const uint8_t *by
    cdef Py_ssize_t i
    if not size:
        return
    into, by = &total[first], &products[0]
    if by[1] == 1:  # the factor is 1
        for i in range(size):
            into[i] ^= data[i]
    else:
        for i in range(size):
            into[i] ^= by[data[i]]


cdef inline void write_bytes(bytes draft, Py_ssize_t at, const uint8_t[::1] values, Py_ssize_t first,
                             Py_ssize_t size) noexcept:
    if size:
        memcpy(data_of(draft) + at, &values[first], size)
