cimport cython


cdef class Frame:
    cdef public long long time, number
    cdef public long size, layer_class
    cdef public bytes key
    cdef public unsigned long content
    cdef public bint is_data, is_lost


cdef class Seen:
    cdef public dict taken, given


@cython.locals(
    seen=Seen, open_frames=dict, frame=Frame, waiting=list, key=bytes, raw=bytes, number="long long", is_out=bint
)
cdef Seen _read(object capture, object classes)
@cython.locals(at=Py_ssize_t, flow=bytes, port=bytes, kind=bytes, content="unsigned long")
cdef tuple _identity(bytes frame)
