from workloads.kernels cimport NEVER


cdef class Quick:
    cdef public object events
    cdef public object outbox

    cpdef take(self, Py_ssize_t port, bytes frame, long long now)
    cpdef bytes give(self, long long now)
    cpdef long long due(self) except? -2
    cpdef wake(self, long long now)
