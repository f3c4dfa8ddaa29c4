from libc.math cimport ldexp
from libc.stdint cimport int32_t

from workloads.kernels cimport (
    dequantise, finished, largest_exponents, new_draft, quantise, read_words, write_words,
)


cdef double _LARGEST


cdef class Tensor:
    cdef public long long packets, ahead

    cpdef long long elements_in(self, long long packet) except? -1
    cpdef long long exponent(self, long long packet, long long half)
    cpdef fill(self, bytes draft, Py_ssize_t at, long long packet)
    cpdef bint can_be(self, long long packet, long long first, long long second)
    cpdef put(self, long long packet, long long first, long long second, bytes frame, Py_ssize_t at, Py_ssize_t count)


cdef class Int32Tensor(Tensor):
    cdef const int32_t[::1] _integers
    cdef int32_t[::1] _result
    cdef long long _block, _elements


cdef class FixedTensor(Tensor):
    cdef const int32_t[::1] _integers
    cdef float[::1] _result
    cdef long long _block, _elements
    cdef double _scale


cdef class FloatTensor(Tensor):
    cdef const float[::1] _gradient
    cdef float[::1] _result
    cdef long long _block, _half, _blocks, _elements
    cdef double _share
    cdef long long[::1] _own, _agreed, _is_agreed

    cdef double _scale(self, long long block, long long half) except? -1.0
