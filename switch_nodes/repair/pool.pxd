from libc.stdint cimport uint8_t

from switch_nodes.occupancy cimport Occupancy

cdef long long _FREE, _FILLING, _NONE


cdef class RepairPool(Occupancy):
    cdef public object config, tree
    cdef public long long job, slots, first_slot, elements, up, size, everyone
    cdef public uint8_t[::1] values
    cdef public long long[::1] state, block, length, inside, entered, opened, below
    cdef public bytes head_up
    cdef public dict heads

    cdef long long below_port(self, Py_ssize_t port)
    cpdef long long value_at(self, long long cell)
    cpdef bint is_first(self, long long ranks)
    cpdef tuple contributions(self, long long cell)
    cdef bytes _head(self, object member)
