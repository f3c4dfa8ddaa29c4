/* irn_window.py and irn_arrivals.py: what leaves next, what an answer says about what is missing, which packets are here. */
#ifndef INA_RC_IRN_WINDOW_H
#define INA_RC_IRN_WINDOW_H

#include <string.h>

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

static inline void irn_schedule_oldest(struct irn_pair *pair)
{
    pair->again = pair->una;
    pair->is_due = 1;
}

static inline void irn_schedule_hole(struct irn_pair *pair)
{
    int64_t start = pair->again + 1 > pair->una ? pair->again + 1 - pair->una : 0;
    int64_t hole = irn_hole(&pair->arrived, start), lost = pair->lost_to + 1 - pair->una;
    pair->is_due = hole < (lost > pair->arrived.bits ? lost : pair->arrived.bits);
    if (pair->is_due)
        pair->again = pair->una + hole;
}

/* SenderWindow.upcoming; -1: nothing. */
static inline int64_t irn_upcoming(const struct irn_pair *pair)
{
    if (pair->is_due && pair->again >= pair->una)
        return pair->again;
    return pair->nxt < pair->posted_end && pair->nxt - pair->una < pair->cap ? pair->nxt : -1;
}

/* SenderWindow.left */
static inline void irn_left(struct irn_pair *pair, int64_t sequence)
{
    if (sequence == pair->nxt) {
        pair->nxt++;
        return;
    }
    if (sequence == pair->una) {
        pair->recovering = 1;
        pair->recover_to = pair->nxt - 1;
    }
    irn_schedule_hole(pair);
}

/* SenderWindow.heard */
static inline int irn_heard(struct irn_pair *pair, int is_gap, int64_t cumulative, int64_t selective)
{
    int64_t fresh = cumulative - pair->una;
    if (fresh > 0) {
        irn_shift(&pair->arrived, fresh);
        pair->una = cumulative;
    }
    if (pair->recovering && cumulative > pair->recover_to)
        pair->recovering = 0;
    if (is_gap) {
        if (selective > pair->una)
            irn_set(&pair->arrived, selective - pair->una);
        if (!pair->recovering) {
            if (!fresh)
                irn_schedule_oldest(pair);
        } else if (pair->is_due ? pair->again == selective : selective - pair->una == pair->arrived.bits - 1) {
            irn_schedule_hole(pair);
        }
    }
    int knows_more = pair->in_order || pair->arrived.bits || pair->lost_to >= pair->una;
    if (pair->recovering && fresh > 0 && pair->again < pair->una && knows_more)
        irn_schedule_oldest(pair);
    return fresh > 0;
}

#endif
