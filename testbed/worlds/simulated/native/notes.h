/* What nodes have to tell that nobody must act on: kept, and told by Python before anything else is. */
#ifndef INA_SIM_NOTES_H
#define INA_SIM_NOTES_H

#include "core.h"

#include "../../../../switch_nodes/netreduce/state.h"

static void keep_entry(struct sim_core *core, const struct irn_entry *entry)
{
    core->notes[core->noted++] = (struct sim_note){core->now, core->node, {entry->kind, entry->pair, entry->a, entry->b}};
}

/* That a packet left again is told later, before anything else is: Python has nothing else to do with it. */
static void keep_repeats(struct sim_core *core, struct irn_end *end)
{
    for (int64_t i = 0; i < end->news; i++)
        keep_entry(core, &end->log[i]);
    end->news = 0;
}

/* What became of messages of a ring. */
static void keep_ring(struct sim_core *core, struct ring_held *ring)
{
    for (int64_t i = 0; i < ring->logged; i++)
        keep_entry(core, &ring->log[i]);
    ring->logged = 0;
}

/* What a switch noted is told later, before anything else is: most of it under loss is of repeated packets, which Python has
 * nothing else to do with. Not so where the telling looks at the state of a message, which goes on. Returns whether all of it
 * could be kept. */
static int keep_notes(struct sim_core *core, struct netreduce_switch *program)
{
    int64_t used = program->log_used;
    if (used > NOTES - core->noted)
        return 0;
    for (int64_t i = 0; i < used; i++)
        if (program->log[LOG_FIELDS * i] == LOG_AGGREGATED)
            return 0;
    for (int64_t i = 0; i < used; i++) {
        struct sim_note *note = &core->notes[core->noted++];
        note->time = core->now;
        note->node = core->node;
        memcpy(note->entry, program->log + LOG_FIELDS * i, sizeof note->entry);
    }
    program->log_used = 0;
    return 1;
}

enum { EPB = 6, EPB_FLAGS = 2, EPB_BYTES = 44 /* of a block, in addition to its frame and the pad */ };

/* Put a frame on the tape of its switch, as an enhanced packet block of pcapng (captures/pcapng.py): the tap gets the tape later,
 * before anything else is recorded. Returns whether there was room. */
static int keep_frame(const struct sim_core *core, struct sim_node *node, int32_t frame, int outgoing)
{
    uint32_t length = (uint32_t)core->lengths[frame], pad = -length & 3, whole = EPB_BYTES + length + pad;
    if (whole > node->tape_room - node->tape_used)
        return 0;
    uint8_t *at = node->tape + node->tape_used;
    const uint32_t head[] = {EPB, whole, (uint32_t)core->port, (uint32_t)(core->now >> 32), (uint32_t)core->now, length, length};
    for (size_t i = 0; i < sizeof head / sizeof *head; i++, at += 4)
        put32le(at, head[i]);
    memcpy(at, sim_frame_at(core, frame), length);
    memset(at + length, 0, pad);
    at += length + pad;
    put32le(at, 4 << 16 | EPB_FLAGS);
    put32le(at + 4, outgoing ? 2 : 1);
    put32le(at + 8, 0);
    put32le(at + 12, whole);
    node->tape_used += whole;
    return 1;
}

#endif
