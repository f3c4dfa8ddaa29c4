from workloads.quick cimport Quick


cdef class Queued(Quick):
    cdef object _program

    cpdef take(self, Py_ssize_t port, bytes frame, long long now)
