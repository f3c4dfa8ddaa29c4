cimport cython

from testbed.checkers.frames cimport RoceFrame
from testbed.checkers.rules cimport Sighting
from testbed.checkers.rules_switch cimport SwitchRules


cdef class _CaptureJudge:
    cdef public object _detour, _violations, _place, _names, _seats, _summed
    cdef public bint _trims, _corrupts, _failed
    cdef public SwitchRules _switch
    cdef public dict _by_requests, _by_answers
    cdef public list judged

    @cython.locals(seen=Sighting)
    cpdef run(self, object capture)
