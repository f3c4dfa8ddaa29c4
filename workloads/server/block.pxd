from libc.stdint cimport int32_t

from workloads.datagrams.arrival cimport Arrival
from workloads.datagrams.entries cimport enter
from workloads.kernels cimport add_words, new_words, read_words

cdef long long _COLLISION, _OVERFLOW
cdef int32_t[::1] _NOTHING
cdef object _WORDS


cdef class Block:
    cdef public object state, deadline
    cdef public bint _saturating, overflow, collided, marked, awaits_switch
    cdef public long long number, slot, tensor, priority, exponent0, exponent1, later, reminders, answers, size
    cdef public object bitmap
    cdef public list entered
    cdef list _packets
    cdef public int32_t[::1] values
    cdef public bytes frame

    cpdef replace(self, Arrival a)
    cpdef add(self, Arrival a)
    cpdef bint is_wider(self, object bitmap) except -1
    cpdef swap(self, Arrival a)
    cdef _empty(self, long long size)
    cdef _sum(self, object workers, bytes frame, Py_ssize_t at, bint left_range)
    cpdef seal(self, bytes frame)
    cpdef hear(self, Arrival a)
    cdef _note(self, Arrival a)
