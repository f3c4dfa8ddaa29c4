cimport cython

from testbed.jct.hops cimport Hop
from testbed.jct.hosts cimport cut
from testbed.jct.walk cimport WalkStep, Walk

cdef object _begin, _SERIALISATION
cdef tuple _IN_FLIGHT
cdef long long _ROUNDING


cdef class _Back:
    cdef public list spans
    cdef public bint is_own
    cdef public object met_at, host
    cdef public long long left_at


cdef class Timelines:
    cdef Walk _walk
    cdef object _workers
    cdef dict _data, _begins, _ends

    @cython.locals(hop=Hop, begins="long long", ends="long long", cursor="long long", busy_from="long long", found=list)
    cpdef list of(self, object worker, long long arrival, long long until)
    cpdef list _gap(self, object worker, long long since, long long until, Hop ended_by)
    cpdef list _covered(self, object worker, list spans)
    @cython.locals(back=_Back, began="long long", lay_from="long long")
    cpdef list _wait(self, object worker, long long since, long long until, Hop ended_by)
    cpdef list _named(self, object worker, list spans, long long until)
    @cython.locals(place=Py_ssize_t, following=Py_ssize_t)
    cpdef bint _has_more(self, object worker, long long time)
    @cython.locals(place=Py_ssize_t, hop=Hop, following=Hop, spans=list)
    cpdef tuple _ahead(self, object worker, long long time)
    @cython.locals(step=WalkStep, found=_Back, begin="long long", end="long long")
    cpdef _Back _back(self, object worker, long long since, Hop ended_by, object lay_at)


@cython.locals(begin="long long", end="long long")
cpdef list _within(list spans, long long since, long long until)
@cython.locals(found=list, cursor="long long", begin="long long", end="long long")
cpdef list _filled(list spans, long long since, long long until)
