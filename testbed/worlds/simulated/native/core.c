/* The loop itself: what becomes of a frame, stage by stage, up to where Python is needed. */
#include "core.h"
#include "notes.h"
#include "wire.h"

enum { ABSORB_PYTHON = 1 }; /* absorb.c: WHY_PYTHON */

int32_t forward_rows(const struct mac_table *table, struct frame_queue *queue, const uint8_t *frames, int64_t stride,
                     const int32_t *lengths, const int32_t *ports, int32_t row, int32_t count, int32_t *asked);
int32_t netreduce_absorb(struct netreduce_switch *sw, const uint8_t *frames, int64_t stride, const int32_t *lengths,
                         const int32_t *ports, int32_t row, int32_t count);

/* Let Python see the frame; it is given up with the next call. */
static enum why show(struct sim_core *core, int32_t frame, enum why why)
{
    core->data = sim_frame_at(core, frame);
    core->length = core->lengths[frame];
    core->pending = frame;
    return why;
}

/* Whether compiled code may drive the host now; if not, *why is what Python does first, or instead. */
static int is_ready(struct sim_core *core, const struct sim_node *node, enum why instead, enum why *why)
{
    if (node->is_held)
        return 1;
    *why = core->refused ? instead : WHY_OFFER;
    core->refused = 0;
    return 0;
}

/* nodes.py: _arm, of a held host. */
static void arm(struct sim_core *core, struct sim_node *node)
{
    int64_t due = rc_endpoint_timer(node->held);
    if (due < 0 || (node->armed >= 0 && due >= node->armed))
        return;
    node->armed = due > core->now ? due : core->now;
    sim_push(core, node->armed, node->actor, EVENT_WAKE, core->node, 0, NO_FRAME);
}

/* nodes.py: HostNode._pull, and what comes of it: a frame begins, or the wire is free. Returns whether that is done. */
static int pull(struct sim_core *core, struct sim_node *node, struct sim_wire *wire, enum why instead, enum why *why)
{
    if (!node->alive || node->paused) {
        wire->busy = 0;
        return 1;
    }
    if (node->machine != HOST) {
        *why = instead;
        return 0;
    }
    if (!is_ready(core, node, instead, why))
        return 0;
    struct irn_end *irn = node->held->irn;
    int32_t frame = sim_frame_new(core);
    if (frame == NO_FRAME || (irn && IRN_LOG > NOTES - core->noted)) {
        if (frame != NO_FRAME)
            sim_frame_free(core, frame);
        *why = instead;
        return 0;
    }
    switch (rc_endpoint_pull(node->held, sim_frame_at(core, frame), (size_t)core->stride, &core->lengths[frame], core->now)) {
    case RC_ENDPOINT_DONE:
        if (irn)
            keep_repeats(core, irn);
        arm(core, node);
        sim_begin(core, wire, frame);
        return 1;
    case RC_ENDPOINT_NONE:
        sim_frame_free(core, frame);
        wire->busy = 0;
        return 1;
    case RC_ENDPOINT_NO_ROOM:
        sim_frame_free(core, frame);
        core->length = 0;
        *why = WHY_TOO_LONG;
        return 0;
    default: /* the next message: Python prepares it */
        sim_frame_free(core, frame);
        *why = WHY_OFFER;
        return 0;
    }
}

/* A frame comes into a switch. Returns whether the program took it. */
static int absorb(struct sim_core *core, struct sim_node *node, enum why *why)
{
    const uint8_t *data = sim_frame_at(core, core->frame);
    int32_t length = core->lengths[core->frame], asked = 0;
    if (node->machine == NETREDUCE) {
        if (netreduce_absorb(node->program, data, core->stride, &length, &core->port, 0, 1) == 1)
            return 1;
        *why = node->program->why == ABSORB_PYTHON ? WHY_ARRIVE : WHY_ROOM;
        return 0;
    }
    if (forward_rows(node->macs, node->queue, data, core->stride, &length, &core->port, 0, 1, &asked) == 1) {
        node->forwarded++;
        return 1;
    }
    *why = asked ? WHY_ARRIVE : WHY_ROOM;
    return 0;
}

/* nodes.py: arrive, behind the filter. Returns whether the next stage is set. */
static int enter(struct sim_core *core, enum why *why)
{
    struct sim_node *node = core->nodes[core->node];
    int32_t frame = core->frame, length = core->lengths[frame];
    *why = WHY_ARRIVE;
    if (!node->alive) {
        sim_frame_free(core, frame);
        core->stage = STAGE_NONE;
        return 1;
    }
    if (node->paused || node->machine == BY_VERBS)
        return 0;
    core->stage = STAGE_DRAIN;
    if (node->machine == HOST) {
        if (!is_ready(core, node, WHY_ARRIVE, why)) {
            core->stage = STAGE_ENTER;
            return 0;
        }
        enum rc_endpoint_outcome outcome = RC_ENDPOINT_PYTHON;
        if (NOTES - core->noted >= (node->held->carried ? RING_LOG : 1))
            outcome = rc_endpoint_receive(node->held, sim_frame_at(core, frame), length, core->now);
        if (outcome == RC_ENDPOINT_PYTHON)
            return 0;
        if (!node->held->irn && node->held->note.kind)
            keep_entry(core, &node->held->note);
        if (node->held->carried)
            keep_ring(core, node->held->carried);
        core->stage = outcome == RC_ENDPOINT_NEWS ? STAGE_NONE : STAGE_KICK;
        *why = WHY_NEWS;
    } else if (!absorb(core, node, why)) {
        core->stage = STAGE_ENTER;
        return 0;
    }
    node->frames_in++;
    node->bytes_in += length;
    if (node->tape && !keep_frame(core, node, frame, 0)) { /* Python records what it takes itself */
        *why = WHY_RECORD_IN;
        return 0;
    }
    sim_frame_free(core, frame);
    return core->stage != STAGE_NONE;
}

/* nodes.py: SwitchNode._pass. A frame is due at *at behind its filter; if it has to wait, *at is until when. */
static int is_held_back(const struct sim_core *core, const struct sim_node *node, int32_t port, int outgoing, int64_t *at)
{
    int64_t *appointed = node->appointed + 2 * port + outgoing;
    if (*at <= core->now && *appointed < core->now)
        return 0;
    if (*appointed < *at)
        *appointed = *at;
    if (*at < core->now)
        *at = core->now;
    return 1;
}

/* nodes.py: SwitchNode._leave. Returns whether nobody wants to hear of it. */
static int leave(struct sim_core *core, const struct sim_node *node, int32_t port, int32_t frame, enum why *why)
{
    struct sim_wire *wire = node->wires[port];
    enum sent outcome = sim_admit(core, wire, frame);
    if (outcome == SENT) {
        sim_put(core, wire, frame);
        return 1;
    }
    if (!node->tape && !wire->tells_drops) {
        sim_frame_free(core, frame);
        return 1;
    }
    core->number = outcome;
    core->port = port;
    core->frame = frame;
    *why = WHY_DROPPED;
    return 0;
}

/* nodes.py: SwitchNode._let_leave, up to the filter of the oldest frame that its program gave out. Returns whether Python is
 * not needed before that. */
static int drain(struct sim_core *core, struct sim_node *node, enum why *why)
{
    struct frame_queue *queue = node->queue;
    if (queue->first == queue->last) {
        core->stage = STAGE_NONE;
        *why = WHY_TELL;
        return node->machine != NETREDUCE || keep_notes(core, node->program);
    }
    int64_t row = queue->first;
    int32_t length = queue->length[row], frame;
    if (length < 0 || length > core->stride) {
        core->length = length;
        *why = WHY_TOO_LONG;
        return 0;
    }
    frame = sim_frame_new(core);
    if (frame == NO_FRAME)
        return 1; /* the loop sees that it is broken */
    memcpy(sim_frame_at(core, frame), queue->data + queue->start[row], (size_t)length);
    core->lengths[frame] = length;
    core->port = queue->port[row];
    core->frame = frame;
    if (++queue->first == queue->last)
        queue->first = queue->last = queue->used = 0;
    core->stage = STAGE_LEAVE;
    *why = WHY_RECORD_OUT;
    return !node->tape || keep_frame(core, node, frame, 1);
}

/* The same, through the filter. */
static int filter_out(struct sim_core *core, struct sim_node *node, enum why *why)
{
    int32_t port = core->port, frame = core->frame;
    struct ina_link *link = node->egress[port];
    int64_t at = core->now;
    core->stage = STAGE_DRAIN;
    *why = WHY_ADMIT_OUT;
    if (link && !ina_link_pass(link, sim_frame_at(core, frame), core->lengths[frame], core->now, &at))
        return 0;
    if (!link || !is_held_back(core, node, port, 1, &at))
        return leave(core, node, port, frame, why);
    sim_push(core, at, node->actor + 2 + 2 * (uint64_t)port, EVENT_LEAVE, core->node, port, frame);
    return 1;
}

/* nodes.py: _wake, of a held host: each progress puts its timer off. Returns whether Python is not needed. */
static int wake(struct sim_core *core)
{
    struct sim_node *node = core->nodes[core->node];
    if (!node->is_held || !node->alive || node->paused)
        return 0;
    if (node->armed != core->now)
        return 1;
    int64_t due = rc_endpoint_timer(node->held);
    if (due >= 0 && due <= core->now)
        return 0;
    node->armed = -1;
    arm(core, node);
    return 1;
}

/* Keep the next appointment. Returns whether Python is not needed for it. */
static int begin_event(struct sim_core *core, enum why *why)
{
    struct sim_event event = sim_pop(core);
    core->now = event.time;
    core->node = event.where;
    core->port = event.port;
    core->frame = event.frame;
    switch (event.kind) {
    case EVENT_END:
        core->wire = event.where;
        core->stage = STAGE_PULL;
        return 1;
    case EVENT_ENTER:
        core->stage = STAGE_ENTER;
        return 1;
    case EVENT_LEAVE:
        return leave(core, core->nodes[event.where], event.port, event.frame, why);
    case EVENT_WAKE:
        *why = WHY_WAKE;
        return wake(core);
    default:
        core->number = event.where;
        *why = WHY_CALL;
        return 0;
    }
}

/* wire.py: _end, up to the delivery. */
static int end_of_frame(struct sim_core *core, enum why *why)
{
    struct sim_wire *wire = core->wires[core->wire];
    *why = WHY_PULL;
    if (wire->waiting) {
        sim_begin(core, wire, sim_take(core, wire));
    } else if (wire->source < 0) {
        wire->busy = 0;
    } else {
        core->node = wire->source;
        if (!pull(core, core->nodes[wire->source], wire, WHY_PULL, why))
            return 0;
    }
    core->stage = STAGE_DELIVER;
    return 1;
}

/* nodes.py: arrive. */
static int deliver(struct sim_core *core)
{
    const struct sim_wire *wire = core->wires[core->wire];
    const struct sim_node *node = core->nodes[wire->to_node];
    struct ina_link *link = node->ingress ? node->ingress[wire->to_port] : NULL;
    int64_t at = core->now;
    core->node = wire->to_node;
    core->port = wire->to_port;
    core->stage = STAGE_NONE;
    if (link && !ina_link_pass(link, sim_frame_at(core, core->frame), core->lengths[core->frame], core->now, &at))
        return 0;
    if (!link || !is_held_back(core, node, core->port, 0, &at))
        core->stage = STAGE_ENTER;
    else
        sim_push(core, at, node->actor + 1 + 2 * (uint64_t)core->port, EVENT_ENTER, core->node, core->port, core->frame);
    return 1;
}

/* nodes.py: settle, of a held host. */
static int kick(struct sim_core *core, enum why *why)
{
    struct sim_node *node = core->nodes[core->node];
    struct sim_wire *wire = node->wires[0];
    if (!is_ready(core, node, WHY_SETTLE, why) || (!wire->busy && !pull(core, node, wire, WHY_SETTLE, why)))
        return 0;
    arm(core, node);
    core->stage = STAGE_NONE;
    return 1;
}

/* Keep appointments that are not after `limit`, up to where Python is needed, and go on with the event that it was needed
 * for. */
enum why sim_run(struct sim_core *core, int64_t limit)
{
    enum why why = WHY_DRY;
    if (core->pending != NO_FRAME) {
        sim_frame_free(core, core->pending);
        core->pending = NO_FRAME;
    }
    for (int32_t stages = 0;; stages++) {
        if (core->broken)
            return WHY_NO_MEMORY;
        if (stages == MOST_STAGES) /* milliseconds; more where hosts have hundreds of queue pairs */
            return WHY_AIR;
        switch (core->stage) {
        case STAGE_NONE:
            if (!core->events || core->heap[0].time > limit)
                return WHY_DRY;
            if (!begin_event(core, &why))
                return why == WHY_DROPPED ? show(core, core->frame, why) : why;
            break;
        case STAGE_PULL:
            if (!end_of_frame(core, &why)) {
                if (why == WHY_PULL)
                    core->stage = STAGE_DELIVER;
                return why;
            }
            break;
        case STAGE_DELIVER:
            if (!deliver(core))
                return show(core, core->frame, WHY_ADMIT_IN);
            break;
        case STAGE_ENTER:
            if (enter(core, &why))
                break;
            if (why == WHY_OFFER || why == WHY_ROOM)
                return why;
            if (why == WHY_RECORD_IN)
                return show(core, core->frame, why);
            core->stage = STAGE_NONE;
            return why == WHY_ARRIVE ? show(core, core->frame, why) : why;
        case STAGE_DRAIN:
            if (!drain(core, core->nodes[core->node], &why)) {
                if (why == WHY_RECORD_OUT) { /* it goes on afterwards */
                    core->data = sim_frame_at(core, core->frame);
                    core->length = core->lengths[core->frame];
                }
                return why;
            }
            break;
        case STAGE_LEAVE:
            if (!filter_out(core, core->nodes[core->node], &why))
                return show(core, core->frame, why);
            break;
        default:
            if (!kick(core, &why)) {
                if (why == WHY_SETTLE)
                    core->stage = STAGE_NONE;
                return why;
            }
        }
    }
}
