cimport cython

from workloads.rc.captured cimport RoceFrame
from testbed.checkers.rules cimport PsnClock, Sighting
from testbed.checkers.rules_hosts cimport ConnectionRules
from testbed.checkers.rules_switch cimport SwitchRules


cdef object _DATA, _ANSWER


cdef class _CaptureJudge:
    cdef public object _detour, _violations, _place, _names, _seats, _summed
    cdef public bint _trims, _corrupts, _failed
    cdef public SwitchRules _switch
    cdef public dict _by_requests, _by_answers, _clocks
    cdef public list judged

    @cython.locals(seen=Sighting, frame=RoceFrame, raw=bytes)
    cpdef run(self, object capture)
    cpdef _malformed(self, bint outgoing, bytes raw, str problem, Sighting seen)
    @cython.locals(rules=ConnectionRules, clock=PsnClock)
    cpdef _entered(self, RoceFrame frame, object payload, bytes raw, Sighting seen, bint lost)
    @cython.locals(rules=ConnectionRules)
    cpdef _left(self, RoceFrame frame, object payload, bytes raw, Sighting seen, bint lost)
