from switch_nodes.lossless.buffer cimport Account


cdef class Charge:
    cdef public Account account
    cdef public long long size
    cdef long long _holders
    cdef object _released

    cpdef keep(self)
    cpdef drop(self)
