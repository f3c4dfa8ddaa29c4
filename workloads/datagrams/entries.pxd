cimport cython

cdef unsigned long long _WORD
cdef Py_ssize_t _BITS

@cython.locals(word=cython.ulonglong, at=cython.Py_ssize_t, rank=cython.Py_ssize_t)
cpdef enter(list entered, object bitmap)
