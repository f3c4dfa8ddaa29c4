cimport cython

from testbed.jct.hops cimport Hop
from testbed.jct.hosts cimport cut

cdef long long _ROUNDING


cdef class WalkStep:
    cdef public object node
    cdef public long long time
    cdef public tuple span
    cdef public Hop sent, came


cdef class _Cause:
    cdef public list steps
    cdef public long long time
    cdef public Hop hop
    cdef public bint by_timer


cdef class Walk:
    cdef public object hops, hosts, by_rate
    cdef object _pauses, _by_switch
    cdef long long _late
    cdef dict _came_at, _sent_at, _taken_as, _given_as

    cpdef list over(self, Hop hop)
    @cython.locals(since="long long", until="long long", found=list)
    cpdef list flight(self, Hop hop)
    @cython.locals(given=list, place=Py_ssize_t, following=Hop)
    cpdef Hop given_for(self, Hop hop)
    @cython.locals(taken=list, place=Py_ssize_t, last=Hop, each=Hop)
    cpdef Hop before_at_switch(self, object node, Hop sent)
    @cython.locals(hop=Hop, steps=list)
    cpdef _Cause _at_switch(self, object node, long long time, Hop sent)
    @cython.locals(
        came=list, arrival=Hop, wire=Hop, place=Py_ssize_t, slack="long long", own=tuple, own_time="long long",
        arrival_time="long long", wire_time="long long", latest="long long", steps=list
    )
    cpdef _Cause _at_host(self, object node, long long time, Hop sent, bint by_timer)
    @cython.locals(sent=list, place=Py_ssize_t)
    cpdef Hop _on_wire(self, object node, long long time)
