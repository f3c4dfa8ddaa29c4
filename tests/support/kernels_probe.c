/* The compiled bodies of workloads/kernels.py and heap.py, for tests that compare them with Python's. */
#include "kernels.h"
#include "heap.h"

uint32_t probe_words_sum(const uint8_t *data, int64_t size) { return ina_words_sum(data, size); }
void probe_read_words(uint32_t *target, const uint8_t *words, int64_t count) { ina_swap_words(target, words, count); }
void probe_write_words(uint8_t *words, const int32_t *source, int64_t count) { ina_write_words(words, source, count); }
void probe_add_words(uint32_t *total, const uint8_t *words, int64_t count) { ina_add_words(total, words, count); }

void probe_quantise(uint8_t *words, const float *values, int64_t count, double scale)
{
    ina_quantise(words, values, count, scale);
}

void probe_dequantise(float *result, const uint8_t *words, int64_t count, double scale)
{
    ina_dequantise(result, words, count, scale);
}

void probe_largest_exponents(int64_t *found, int64_t count, const float *values, int64_t size, int64_t half)
{
    ina_largest_exponents(found, count, values, size, half);
}

void probe_draw_words(uint32_t *words, int64_t count, uint64_t first, uint64_t key0, uint64_t key1)
{
    ina_draw_words(words, count, first, key0, key1);
}

void probe_shape_floats(uint32_t *words, int64_t count) { ina_shape_floats(words, count); }

/* As the agenda does: pushes `count` appointments, after each one takes as many as `takes` says, then the rest. */
int64_t probe_heap(const int64_t *times, const uint64_t *ties, const int64_t *takes, int64_t count, int64_t *order,
                   int64_t *places)
{
    struct ina_heap *heap = ina_heap_new();
    int64_t taken = 0;

    for (int64_t i = 0; i < count; i++) {
        places[i] = ina_heap_push(heap, times[i], ties[i], i, i % 7);
        for (int64_t n = 0; n < takes[i] && heap->count; n++)
            order[taken++] = ina_heap_pop(heap);
    }
    while (heap->count)
        order[taken++] = ina_heap_pop(heap);
    ina_heap_free(heap);
    return taken;
}
