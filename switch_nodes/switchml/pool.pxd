from libc.stdint cimport int32_t

from switch_nodes.occupancy cimport Occupancy
from workloads.kernels cimport bit_of

cdef long long _FREE, _FILLING, _DONE, _WAITING


cdef class Pool(Occupancy):
    cdef public object config
    cdef public long long job, size, slots, elements, first_slot, everyone
    cdef public long long fan_in, complete, up, leaf, leaves, rack, service
    cdef public tuple members, below
    cdef public list heads
    cdef public bytes head_up
    cdef public int32_t[::1] values
    cdef public long long[::1] seen, inside, block, length, wanted, exponent0, exponent1, entered, newest, opened
    cdef public long long[::1] answered
    cdef long long[::1] addresses, ports, bits

    cpdef long long value_at(self, long long slot)
    cpdef long long elements_at(self, long long slot)
    cpdef long long state(self, long long slot)
    cdef long long member_of(self, long long address)
    cdef long long rank_of(self, long long member)
    cpdef tuple contributions(self, long long slot)
