/* Directions of links, as in wire.py: what is on the wire and what waits for it. Inlined, since every frame of every hop comes
 * here. */
#ifndef INA_SIM_WIRE_H
#define INA_SIM_WIRE_H

#include "../../../../workloads/native/ecn.h"
#include "core.h"

#define BITS_NS 8000000000u

/* wire.py: _begin. */
static inline void sim_begin(struct sim_core *core, struct sim_wire *wire, int32_t frame)
{
    uint64_t length = (uint64_t)core->lengths[frame], work = length * BITS_NS + (uint64_t)wire->remainder;
    wire->busy = 1;
    wire->remainder = (int64_t)(work % (uint64_t)wire->rate_bps);
    if (!wire->frames)
        wire->first_at = core->now;
    wire->frames++;
    wire->bytes += (int64_t)length;
    wire->last_at = core->now + (int64_t)(work / (uint64_t)wire->rate_bps);
    sim_push(core, wire->last_at, wire->actor, EVENT_END, wire->number, 0, frame);
}

/* wire.py: send. What is not sent is given up. */
static inline enum sent sim_send(struct sim_core *core, struct sim_wire *wire, int32_t frame)
{
    if (core->lengths[frame] > wire->longest || (wire->busy && wire->waiting >= wire->limit)) {
        enum sent outcome = core->lengths[frame] > wire->longest ? MISFIT : QUEUE_FULL;
        wire->drops++;
        sim_frame_free(core, frame);
        return outcome;
    }
    if (!wire->busy) {
        sim_begin(core, wire, frame);
        return SENT;
    }
    if (wire->waiting >= wire->marks_from)
        wire->marks += ecn_mark(sim_frame_at(core, frame), core->lengths[frame]);
    core->next[frame] = NO_FRAME;
    if (wire->waiting++)
        core->next[wire->tail] = frame;
    else
        wire->head = frame;
    wire->tail = frame;
    return SENT;
}

#endif
