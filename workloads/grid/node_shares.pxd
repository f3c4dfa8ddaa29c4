cimport cython

from workloads.kernels cimport bit_of

cdef long long _GOLDEN, _POINT_BITS


cdef class ShareTable:
    cdef long long _ranks
    cdef long long[::1] _first, _ends, _nodes, _bounds
    cdef bint _whole
    cdef dict _masks

    @cython.locals(at=cython.longlong, point=cython.longlong)
    cpdef long long node_of(self, long long rank, long long packet) except? -1
    @cython.locals(point=cython.longlong, way=cython.longlong)
    cpdef long long way_of(self, long long packet) except? -1
    cpdef long long expected(self, long long node, long long packet) except? -1
    @cython.locals(mask=cython.longlong, count=cython.longlong)
    cpdef long long together(self, long long node, long long packet) except -1
    @cython.locals(mask=cython.longlong, rank=cython.longlong)
    cdef long long _mask(self, long long node, long long packet) except? -1
