cimport cython

from testbed.jct.records cimport Frame


cdef class Hop:
    cdef public object source, target
    cdef public bytes key
    cdef public unsigned long content
    cdef public bint is_data, is_lost
    cdef public long long given, begins, ends, arrives, delay, slack, given_as, taken_as
    cdef public Py_ssize_t wire, place

    cpdef tuple spans(self)


cpdef Hop hop_of(
    object way, Frame frame, long long given, long long begins, long long ends, long long arrives, long long given_as,
    long long taken_as
)


cdef class _Wire:
    cdef public long long _own, _remainder
    cdef public list _changes

    @cython.locals(rate="long long", duration="long long", bits="long long")
    cdef long long duration(self, long long size, long long at)


@cython.locals(delay="long long", free="long long", begins="long long", frame=Frame, kept=list, hops=list)
cdef list _to_host(object source, object target, object link, _Wire wire, object outs)
@cython.locals(delay="long long", free="long long", begins="long long", frame=Frame, hops=list)
cdef list _to_host_with_pfc(object source, object target, object link, _Wire wire, object outs, object held)
@cython.locals(delay="long long", free="long long", begins="long long", place=Py_ssize_t, frame=Frame, hops=list)
cdef list _by_class(object source, object target, object link, _Wire wire, list kept)
@cython.locals(
    delay="long long", free="long long", begins="long long", ends="long long", duration="long long",
    given="long long", number="long long", frame=Frame, origin=Frame, hops=list
)
cdef list _to_switch(
    object source, object target, object link, _Wire wire, object ins, object outs, object pauses
)
