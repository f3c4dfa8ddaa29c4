/* The compiled body of heap.py: appointments in order of (time, tie, made). */
#ifndef INA_HEAP_H
#define INA_HEAP_H

#include <stdint.h>
#include <stdlib.h>

struct ina_appointment {
    int64_t time;
    uint64_t tie;
    int64_t made;
    int32_t place;
    int32_t what;
};

struct ina_heap {
    struct ina_appointment *entries;
    int32_t *free; /* places that can be used again */
    int64_t count, room, free_count, places;
    int64_t last_time;
    int32_t last_what;
};

static inline struct ina_heap *ina_heap_new(void)
{
    return (struct ina_heap *)calloc(1, sizeof(struct ina_heap));
}

static inline void ina_heap_free(struct ina_heap *heap)
{
    if (heap) {
        free(heap->entries);
        free(heap->free);
        free(heap);
    }
}

static inline int ina_heap_is_before(const struct ina_appointment *a, const struct ina_appointment *b)
{
    if (a->time != b->time)
        return a->time < b->time;
    return a->tie != b->tie ? a->tie < b->tie : a->made < b->made;
}

/* The place of what belongs to the appointment; below zero where there is no memory. */
static inline int64_t ina_heap_push(struct ina_heap *heap, int64_t time, uint64_t tie, int64_t made, int64_t what)
{
    struct ina_appointment entry;
    int64_t at;

    if (!heap)
        return -1;
    if (heap->count == heap->room) {
        int64_t room = heap->room ? 2 * heap->room : 64;
        struct ina_appointment *entries =
            (struct ina_appointment *)realloc(heap->entries, (size_t)room * sizeof *entries);
        int32_t *places;

        if (!entries)
            return -1;
        heap->entries = entries;
        places = (int32_t *)realloc(heap->free, (size_t)room * sizeof *places);
        if (!places)
            return -1;
        heap->free = places;
        heap->room = room;
    }
    entry.time = time;
    entry.tie = tie;
    entry.made = made;
    entry.what = (int32_t)what;
    entry.place = heap->free_count ? heap->free[--heap->free_count] : (int32_t)heap->places++;
    at = heap->count++;
    while (at && ina_heap_is_before(&entry, &heap->entries[(at - 1) / 2])) {
        heap->entries[at] = heap->entries[(at - 1) / 2];
        at = (at - 1) / 2;
    }
    heap->entries[at] = entry;
    return entry.place;
}

/* The place of the first one, whose time and kind stay in `last_time` and `last_what`; there must be one. */
static inline int64_t ina_heap_pop(struct ina_heap *heap)
{
    struct ina_appointment first = heap->entries[0], last = heap->entries[--heap->count];
    int64_t at = 0, below;

    while ((below = 2 * at + 1) < heap->count) {
        if (below + 1 < heap->count && ina_heap_is_before(&heap->entries[below + 1], &heap->entries[below]))
            below++;
        if (!ina_heap_is_before(&heap->entries[below], &last))
            break;
        heap->entries[at] = heap->entries[below];
        at = below;
    }
    heap->entries[at] = last;
    heap->free[heap->free_count++] = first.place;
    heap->last_time = first.time;
    heap->last_what = first.what;
    return first.place;
}

#endif
