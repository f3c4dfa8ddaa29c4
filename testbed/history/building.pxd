cimport cython


cdef extern from "Python.h":
    ctypedef int (*descrsetfunc)(object, object, object) except -1

    ctypedef struct PyTypeObject:
        descrsetfunc tp_descr_set

    PyTypeObject *Py_TYPE(object)


cdef inline int set_member(object member, object value, object content) except -1:
    return Py_TYPE(member).tp_descr_set(member, value, content)


@cython.locals(wanted=Py_ssize_t, place=Py_ssize_t)
cdef object _init_for(object generated, tuple members)
