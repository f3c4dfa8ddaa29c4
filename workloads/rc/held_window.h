/* held_window.py and held_receiver.py: what leaves next under irn-held, what a map says, and which map an answer carries. */
#ifndef INA_RC_HELD_WINDOW_H
#define INA_RC_HELD_WINDOW_H

#include "irn_bitmap.h"
#include "roce.h"

enum { HELD_PACKETS = 64, HELD_REMEMBERED = 4096 };

static inline int is_held(const struct irn_pair *pair) { return pair->held.places != 0; }

/* HeldWindow.upcoming; -1: nothing. */
static inline int64_t held_upcoming(const struct irn_pair *pair)
{
    if (pair->held.lost.bits)
        return pair->una + irn_lowest(&pair->held.lost);
    return pair->nxt < pair->posted_end && pair->nxt - pair->una < pair->cap ? pair->nxt : -1;
}

/* HeldWindow.left */
static inline void held_left(struct irn_pair *pair, int64_t sequence)
{
    struct irn_held *held = &pair->held;
    held->places[sequence & held->mask] = ++held->copies;
    if (sequence == pair->nxt)
        pair->nxt++;
    irn_clear(&held->lost, sequence - pair->una);
    irn_clear(&pair->arrived, sequence - pair->una);
}

/* HeldWindow.heard */
static inline int held_heard(struct irn_pair *pair, int is_gap, int64_t cumulative, int64_t selective)
{
    int64_t fresh = cumulative - pair->una;
    if (fresh > 0) {
        irn_shift(&pair->arrived, fresh);
        irn_shift(&pair->held.lost, fresh);
        pair->una = cumulative;
    }
    if (is_gap && selective >= pair->una) {
        irn_set(&pair->arrived, selective - pair->una);
        irn_clear(&pair->held.lost, selective - pair->una);
    }
    return fresh > 0;
}

/* HeldWindow._place */
static inline int64_t held_place(const struct irn_pair *pair, int64_t sequence)
{
    int is_known = sequence >= pair->una - HELD_REMEMBERED && sequence < pair->nxt;
    return is_known ? pair->held.places[sequence & pair->held.mask] : 0;
}

/* HeldSender.on_answer and HeldWindow.told, for the map of an answer, if it is one. */
static inline void held_told(struct irn_pair *pair, const uint8_t *map)
{
    uint32_t word = get32(map), newest = get32(map + HELD_MAP_NEWEST), oldest = (uint32_t)pair->una & PSN_MASK, count = (word >> 24) + 1;
    uint64_t bits = get64(map + HELD_MAP_BITS);
    if (count > HELD_PACKETS || (count < HELD_PACKETS && bits >> count) || newest > PSN_MASK) /* or there is none */
        return;
    int64_t distance = psn_diff(word & PSN_MASK, oldest), limit = held_place(pair, pair->una + psn_diff(newest, oldest));
    for (int64_t end = distance + count; distance < end; distance++, bits >>= 1)
        if (!(bits & 1) && distance >= 0 && pair->una + distance < pair->nxt && !irn_has(&pair->arrived, distance) &&
            held_place(pair, pair->una + distance) <= limit)
            irn_set(&pair->held.lost, distance);
}

/* HeldReceiver._answer and next_gap: the map of an answer about PSN `newest`, which shows a gap. Returns its bytes; 0: none. */
static inline uint32_t held_map(struct irn_pair *pair, uint32_t newest, uint8_t *map)
{
    const struct irn_bitmap *here = &pair->here;
    int32_t start = psn_diff((uint32_t)pair->held.told_to, (uint32_t)pair->expected);
    int64_t first = irn_hole(here, start > 0 ? start : 0);
    if (first >= here->bits)
        first = irn_hole(here, 0);
    if (first >= here->bits)
        return 0;
    int64_t count = here->bits - first < HELD_PACKETS ? here->bits - first : HELD_PACKETS;
    uint64_t bits = irn_bits_from(here, first);
    pair->held.told_to = psn_add((uint32_t)pair->expected, (int32_t)(first + count));
    put32(map, (uint32_t)(count - 1) << 24 | psn_add((uint32_t)pair->expected, (int32_t)first));
    put32(map + HELD_MAP_NEWEST, newest);
    put64(map + HELD_MAP_BITS, count < HELD_PACKETS ? bits & ((1ull << count) - 1) : bits);
    return IRN_MAP_BYTES;
}

#endif
