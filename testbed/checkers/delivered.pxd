cimport cython

from workloads.rc.captured cimport RoceData, data_of
from testbed.checkers.rules cimport PsnClock

cdef object _crc32


@cython.locals(
    seats=dict, hosts=dict, found=RoceData, seat=tuple, first="long long", clock=PsnClock, seen=dict,
    absolute="long long", offset="long long", checksums=set
)
cdef _read(object context, object capture, object result)
