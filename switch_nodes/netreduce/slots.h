/* A slot that has all packets: its sum, its end, and that of what it takes the place of. slot_actions.py, in part. */
#ifndef INA_NETREDUCE_SLOTS_H
#define INA_NETREDUCE_SLOTS_H

#include "fold.h"
#include "release.h"
#include "state.h"

/* slot_actions.py: reclaim and clear */
static void reclaim(struct netreduce_ring *ring, int64_t message, int64_t offset)
{
    int64_t before = message - (ring->banks - ring->window);
    if (before < 0)
        return;
    int64_t end = offset == packets_of(ring, message) - 1 ? ring->message_packets : offset + 1;
    for (int64_t slot = slot_of(ring, before, offset), last = slot_of(ring, before, end); slot < last; slot++) {
        if (ring->tag[slot] != before)
            continue;
        ring->cursor[OCCUPIED] -= ring->bitmap[slot] != 0;
        ring->tag[slot] += ring->banks;
        ring->bitmap[slot] = ring->released[slot] = 0;
        ring->done[slot] = ring->ce[slot] = 0;
        ring->length[slot] = 0;
    }
}

static void note(struct netreduce_switch *sw, int kind, int64_t ring, int32_t rank, int64_t message, int64_t offset)
{
    int64_t *entry = sw->log + LOG_FIELDS * sw->log_used++;
    entry[0] = kind;
    entry[1] = ring;
    entry[2] = rank;
    entry[3] = message;
    entry[4] = offset;
}

/* slot_actions.py: _sum */
static void sum(struct netreduce_switch *sw, struct netreduce_ring *ring, int64_t message, int64_t slot, uint8_t *into)
{
    int64_t index = message % ring->banks;
    fold(ring, slot, into);
    for (int32_t rank = 0; rank < ring->size; rank++)
        ring->entered[index * ring->size + rank]++;
    if (++ring->completed[index] == packets_of(ring, message))
        note(sw, LOG_AGGREGATED, ring - sw->rings, 0, message, 0);
}

/* slot_actions.py: _finish_slot */
static void finish_slot(struct netreduce_switch *sw, struct netreduce_ring *ring, int64_t message, int64_t offset)
{
    ring->done[slot_of(ring, message, offset)] = 1;
    reclaim(ring, message, offset);
    release_completed(sw, ring, message, offset);
}

#endif
