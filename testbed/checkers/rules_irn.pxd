cimport cython

from workloads.rc.captured cimport RoceFrame
from testbed.checkers.rules cimport Sighting
from testbed.checkers.rules_hosts cimport ConnectionRules, Sent


cdef long _ACK, _GAP, _CUT
cdef object _KINDS, _LAST


cdef class IrnConnectionRules(ConnectionRules):
    @cython.locals(size="long long", mtu="long long", announced="long long", before="long long")
    cpdef _grammar(self, Sent packet, Sighting seen)
    cpdef left(self, RoceFrame frame)
    @cython.locals(psn="long long")
    cpdef _await_answer(self, RoceFrame frame)
    @cython.locals(cumulative="long long", selective="long long", is_gap=bint)
    cpdef answered(self, RoceFrame frame, Sighting seen)
    cpdef _count(self, object psn, Sighting seen)
    cpdef _asked_for(self, RoceFrame frame)
