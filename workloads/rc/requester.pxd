cdef class Requester:
    cdef public object queue, recovery
