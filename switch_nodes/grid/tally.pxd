from switch_nodes.aggregators.served cimport ServedJob


cdef class Tally(ServedJob):
    cdef dict _left, _before

    cpdef arrive(self, long long block, long long bitmap, long long now)
    cpdef leave(self, long long block, long long bitmap)
    cpdef deliver(self, long long block, long long now)
    cpdef bint is_copy(self, long long block, long long bitmap) except -1
