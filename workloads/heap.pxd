# The compiled body of heap.py.
from libc.stdint cimport int32_t, int64_t, uint64_t


cdef extern from "heap.h" nogil:
    struct ina_appointment:
        int64_t time
        uint64_t tie

    struct ina_heap:
        ina_appointment *entries
        int64_t count, last_time
        int32_t last_what

    ina_heap *ina_heap_new()
    void ina_heap_free(ina_heap *heap)
    int64_t ina_heap_push(ina_heap *heap, int64_t time, uint64_t tie, int64_t made, int64_t what)
    int64_t ina_heap_pop(ina_heap *heap)


cdef inline ina_heap *heap_new() noexcept:
    return ina_heap_new()


cdef inline void heap_free(ina_heap *heap) noexcept:
    ina_heap_free(heap)


cdef inline long long heap_push(ina_heap *heap, long long time, unsigned long long tie, long long made,
                                long long what) noexcept:
    return ina_heap_push(heap, time, tie, made, what)


cdef inline long long heap_pop(ina_heap *heap) noexcept:
    return ina_heap_pop(heap)


cdef inline long long heap_first(ina_heap *heap) noexcept:
    return heap.entries[0].time if heap.count else -1


cdef inline long long heap_tie(ina_heap *heap) noexcept:
    return <long long>heap.entries[0].tie


cdef inline long long heap_last(ina_heap *heap) noexcept:
    return heap.last_time


cdef inline long long heap_what(ina_heap *heap) noexcept:
    return heap.last_what
