cimport cython

from switch_nodes.lossless.pauses cimport PauseState

cdef bytes _IPV4
cdef tuple _CLASS_OF_TOS
cdef Py_ssize_t _AT_TYPE, _AT_TOS


cdef class ClassRows:
    cdef bint _by_priority
    cdef long long _came
    cdef public tuple classes
    cdef tuple _rows
    cdef object _order

    cpdef long long layer_class(self, bytes frame)
    cpdef long long waiting_in(self, long long layer_class)
    cpdef put(self, long long layer_class, bytes frame, object charge, long long paused_ns)
    @cython.locals(best=cython.longlong, layer_class=cython.longlong)
    cpdef tuple take(self, PauseState pauses, long long now)
    @cython.locals(layer_class=cython.longlong)
    cpdef list held(self, PauseState pauses, long long now)
