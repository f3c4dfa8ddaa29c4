cimport cython

from switch_nodes.aggregators.served cimport ServedJob


cdef class TreePlace:
    cdef public object children, below
    cdef public dict by_port
    cdef public list copies
    cdef public long long up
    cdef public bint meets


cdef class TreeJob(ServedJob):
    cdef public list _places

    cpdef TreePlace place_of(self, long long sequence)
    cdef object _child(self, long long port, long long sequence)
