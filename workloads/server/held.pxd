from workloads.server.block cimport Block


cdef class HeldBack:
    cdef long long _blocks
    cdef dict _waiting

    cpdef object release(self, Block block)
