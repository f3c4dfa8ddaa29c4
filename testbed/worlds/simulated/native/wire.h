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

/* The queue that a frame is for. */
static inline int sim_class(const struct sim_core *core, const struct sim_wire *wire, int32_t frame)
{
    return wire->serves_classes ? dscp_layer_class(dscp_read(sim_frame_at(core, frame), core->lengths[frame])) : 0;
}

/* Whether the wire takes a frame; what it does not take is counted. */
static inline enum sent sim_admit(struct sim_core *core, struct sim_wire *wire, int32_t frame)
{
    if (core->lengths[frame] > wire->longest) {
        wire->drops++;
        return MISFIT;
    }
    if (!wire->busy)
        return SENT;
    int64_t waiting = wire->queued[sim_class(core, wire, frame)];
    if (waiting >= wire->limit) {
        wire->drops++;
        return QUEUE_FULL;
    }
    if (waiting >= wire->low_until && dscp_is_low(dscp_read(sim_frame_at(core, frame), core->lengths[frame]))) {
        wire->early++;
        return EARLY;
    }
    return SENT;
}

/* wire.py: send, of a frame that the wire takes. */
static inline void sim_put(struct sim_core *core, struct sim_wire *wire, int32_t frame)
{
    if (!wire->busy) {
        sim_begin(core, wire, frame);
        return;
    }
    int class = sim_class(core, wire, frame);
    if (wire->queued[class] >= wire->marks_from)
        wire->marks += ecn_mark(sim_frame_at(core, frame), core->lengths[frame]);
    core->next[frame] = NO_FRAME;
    if (wire->head[class] == NO_FRAME)
        wire->head[class] = frame;
    else
        core->next[wire->tail[class]] = frame;
    wire->tail[class] = frame;
    wire->queued[class]++;
    wire->waiting++;
}

/* The next frame of those that wait. */
static inline int32_t sim_take(const struct sim_core *core, struct sim_wire *wire)
{
    int class = 0;
    while (wire->head[class] == NO_FRAME)
        class++;
    int32_t frame = wire->head[class];
    wire->head[class] = core->next[frame];
    wire->queued[class]--;
    wire->waiting--;
    return frame;
}

#endif
