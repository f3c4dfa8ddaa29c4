/* Bitmaps of packets that arrived, are here or are lost: the integers of irn_window.py, held_window.py and irn_arrivals.py. */
#ifndef INA_RC_IRN_BITMAP_H
#define INA_RC_IRN_BITMAP_H

#include "irn.h"

static inline int irn_has(const struct irn_bitmap *map, int64_t at)
{
    return at >= 0 && at < map->bits && (map->words[at / 64] >> at % 64 & 1);
}

/* `at` is below IRN_BITS. */
static inline void irn_set(struct irn_bitmap *map, int64_t at)
{
    if (at >= map->bits) {
        for (int64_t word = (map->bits + 63) / 64; word <= at / 64; word++)
            map->words[word] = 0;
        map->bits = at + 1;
    }
    map->words[at / 64] |= 1ull << at % 64;
}

/* Forget the lowest `count` bits: bit `count` is bit 0. */
static inline void irn_shift(struct irn_bitmap *map, int64_t count)
{
    if (count >= map->bits) {
        map->bits = 0;
        return;
    }
    int64_t skip = count / 64, left = (map->bits + 63) / 64 - skip;
    unsigned by = (unsigned)(count % 64);
    for (int64_t word = 0; word < left; word++) {
        uint64_t low = map->words[word + skip] >> by;
        map->words[word] = by && word + 1 < left ? low | map->words[word + skip + 1] << (64 - by) : low;
    }
    map->bits -= count;
}

/* The lowest zero from `at` on; the highest bit is set, so that `bits` is one. */
static inline int64_t irn_hole(const struct irn_bitmap *map, int64_t at)
{
    while (at < map->bits) {
        uint64_t zeros = ~map->words[at / 64] >> at % 64;
        int64_t next = (at / 64 + 1) * 64;
        if (zeros && at + __builtin_ctzll(zeros) < next)
            return at + __builtin_ctzll(zeros);
        at = next;
    }
    return map->bits > at ? map->bits : at;
}

static inline void irn_clear(struct irn_bitmap *map, int64_t at)
{
    if (at >= map->bits)
        return;
    map->words[at / 64] &= ~(1ull << at % 64);
    if (at + 1 < map->bits)
        return;
    int64_t word = at / 64;
    while (word >= 0 && !map->words[word])
        word--;
    map->bits = word < 0 ? 0 : word * 64 + 64 - __builtin_clzll(map->words[word]);
}

/* The lowest bit that is set; one is. */
static inline int64_t irn_lowest(const struct irn_bitmap *map)
{
    int64_t word = 0;
    while (!map->words[word])
        word++;
    return word * 64 + __builtin_ctzll(map->words[word]);
}

/* Bits `at`, which is below `bits`, to `at` + 63. */
static inline uint64_t irn_bits_from(const struct irn_bitmap *map, int64_t at)
{
    int64_t next = at / 64 + 1;
    uint64_t low = map->words[at / 64] >> at % 64;
    return at % 64 && next * 64 < map->bits ? low | map->words[next] << (64 - at % 64) : low;
}

#endif
