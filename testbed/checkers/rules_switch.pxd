cimport cython

from workloads.rc.captured cimport RoceFrame
from testbed.checkers.rules cimport PsnClock, Sighting


cdef class _Passage:
    cdef public long entered, left, cut, cut_here, cut_left
    cdef public tuple requests, heads, payloads
    cdef public object result


cdef class _Flow:
    cdef public PsnClock clock
    cdef public bint aggregates
    cdef public dict passages


cdef class _Other:
    cdef public long entered
    cdef public dict left


cdef object _DATA
cdef long _SEQUENCE_NAK


cdef class SwitchRules:
    cdef public object _violations, _aggregates, _is_stale, _damaged
    cdef public bint _plain_between, _starts_anew
    cdef public dict _flows, _others, _naks, _maps, _cut
    cdef public long answers_passed, data_passed

    cpdef damaged(self, bytes raw)
    cpdef bint passes_damaged(self, bytes raw)
    @cython.locals(passage=_Passage, other=_Other)
    cpdef entered(self, RoceFrame frame, object payload, Sighting seen)
    @cython.locals(passage=_Passage)
    cpdef entered_trimmed(self, RoceFrame frame, Sighting seen)
    @cython.locals(flow=_Flow, passage=_Passage, psn="long long")
    cpdef _Passage _passage(self, RoceFrame frame)
    cpdef left(self, RoceFrame frame, object payload, bytes raw, Sighting seen)
    @cython.locals(known=_Other, left=long)
    cpdef _other_left(self, RoceFrame frame, Sighting seen)
    @cython.locals(flow=_Flow, passage=_Passage, psn="long long")
    cpdef _data_left(self, RoceFrame frame, object payload, Sighting seen)
