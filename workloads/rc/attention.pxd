cimport cython


cdef class Attention:
    cdef public object stale
    cdef object _changed, _answering, _requesting
    cdef list _pairs, _due, _listed, _heap

    cpdef touch(self, object pairs)
    @cython.locals(number=Py_ssize_t)
    cdef _look(self)
