/* What nodes have to tell that nobody must act on: kept, and told by Python before anything else is. */
#ifndef INA_SIM_NOTES_H
#define INA_SIM_NOTES_H

#include "core.h"

#include "../../../../switch_nodes/netreduce/state.h"

/* That a packet left again is told later, before anything else is: Python has nothing else to do with it. */
static void keep_repeats(struct sim_core *core, struct irn_end *end)
{
    for (int64_t i = 0; i < end->news; i++) {
        const struct irn_entry *entry = &end->log[i];
        core->notes[core->noted++] =
            (struct sim_note){core->now, core->node, {entry->kind, entry->pair, entry->a, entry->b}};
    }
    end->news = 0;
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

/* Put a frame on the tape: the tap of the switch hears of it later, before anything else is recorded. Returns whether there
 * was room. */
static int keep_frame(struct sim_core *core, int32_t frame, int outgoing)
{
    int64_t length = core->lengths[frame];
    if (core->taped == TAPE_ROWS || length > TAPE_BYTES - core->tape_used)
        return 0;
    memcpy(core->tape + core->tape_used, sim_frame_at(core, frame), (size_t)length);
    core->tape_used += length;
    core->rows[core->taped++] = (struct sim_row){core->now, core->node, 2 * (int64_t)core->port + outgoing, core->tape_used};
    return 1;
}

#endif
