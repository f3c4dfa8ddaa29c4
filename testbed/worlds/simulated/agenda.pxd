cimport cython

from workloads.heap cimport (
    heap_first, heap_free, heap_last, heap_new, heap_pop, heap_push, heap_what, ina_heap,
)

cdef unsigned long long _MASK, _GOLDEN, _MIX1, _MIX2


cdef class Actor:
    cpdef act(self, long long what, object argument)


cdef class _Caller(Actor):
    pass


cdef class Agenda:
    cdef public long long now, floor, _steps
    cdef unsigned long long _salt
    cdef ina_heap *_heap
    cdef public long long _made
    cdef list _actors, _arguments
    cdef Actor _caller

    cpdef appoint(self, long long time, long long number, Actor actor, long long what, object argument)
    @cython.locals(tie=cython.ulonglong)
    cdef unsigned long long _tie(self, unsigned long long time, unsigned long long number)
    cpdef double share(self, long long number, long long count)
    @cython.locals(actor=Actor)
    cdef _step(self)
