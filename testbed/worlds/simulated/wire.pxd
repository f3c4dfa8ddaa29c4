cimport cython

from testbed.worlds.simulated.agenda cimport Actor, Agenda

cdef long long _BITS_NS


cdef class Station(Actor):
    cpdef arrive(self, Py_ssize_t port, bytes frame)
    cpdef bytes pull(self)


cdef class Wire(Actor):
    cdef public Agenda _agenda
    cdef public long long _actor, rate_bps, _limit, _room, _marks_from, _low_until, _longest
    cdef public bint _serves_classes, tells_drops, _busy
    cdef public str link, direction
    cdef public object deliver, refill, cut, _red
    cdef public long long _asked
    cdef Station _to, _source
    cdef Py_ssize_t _to_port
    cdef public object _line, _queue, _fair
    cdef public long long _remainder
    cdef public long long frames, bytes, drops, early, marks, trimmed, first_at, last_at

    cpdef leads_to(self, Station station, Py_ssize_t port)
    cpdef fed_by(self, Station station)
    cpdef str send(self, bytes frame)
    @cython.locals(waiting=cython.longlong, layer_class=cython.longlong, is_cut=cython.bint)
    cdef str _wait(self, bytes frame)
    cpdef bint _is_chosen(self, long long waiting)
    cpdef kick(self)
    cpdef bytes _next(self)
    cpdef long long _waiting_in(self, long long layer_class)
    cpdef _begin(self, bytes frame)
    cdef _end(self, bytes frame)
