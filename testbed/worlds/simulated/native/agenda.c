/* Appointments in the order of agenda.py, and the memory of frames. */
#include "core.h"
#include "layout.h"

#include <stdlib.h>
#include <string.h>

static inline int is_before(const struct sim_event *a, const struct sim_event *b)
{
    if (a->time != b->time)
        return a->time < b->time;
    return a->tie != b->tie ? a->tie < b->tie : a->made < b->made;
}

/* agenda.py: at. */
void sim_push(struct sim_core *core, int64_t time, uint64_t actor, int32_t kind, int32_t where, int32_t port, int32_t frame)
{
    const uint64_t golden = 0x9E3779B97F4A7C15u, mix1 = 0xBF58476D1CE4E5B9u, mix2 = 0x94D049BB133111EBu;
    uint64_t tie = ((uint64_t)time * mix1 ^ (actor + 1) * mix2 ^ core->salt) * golden;
    tie = (tie ^ tie >> 29) * mix1;
    if (core->events == core->room) {
        int64_t room = core->room ? 2 * core->room : 64;
        struct sim_event *larger = realloc(core->heap, (size_t)room * sizeof *larger);
        if (!larger) {
            core->broken = 1;
            return;
        }
        core->heap = larger;
        core->room = room;
    }
    struct sim_event event = {time, tie, ++core->made, kind, where, port, frame};
    int64_t at = core->events++;
    while (at && is_before(&event, &core->heap[(at - 1) / 2])) {
        core->heap[at] = core->heap[(at - 1) / 2];
        at = (at - 1) / 2;
    }
    core->heap[at] = event;
}

/* The first one; there must be one. */
struct sim_event sim_pop(struct sim_core *core)
{
    struct sim_event first = core->heap[0], last = core->heap[--core->events];
    int64_t at = 0, below;
    while ((below = 2 * at + 1) < core->events) {
        if (below + 1 < core->events && is_before(&core->heap[below + 1], &core->heap[below]))
            below++;
        if (!is_before(&core->heap[below], &last))
            break;
        core->heap[at] = core->heap[below];
        at = below;
    }
    core->heap[at] = last;
    return first;
}

/* A free frame; NO_FRAME when there is no memory. */
int32_t sim_frame_new(struct sim_core *core)
{
    if (core->free == NO_FRAME) {
        int32_t count = core->chunk_count, frames = (count + 1) * FRAMES_PER_CHUNK;
        uint8_t **chunks = realloc(core->chunks, (size_t)(count + 1) * sizeof *chunks);
        if (chunks)
            core->chunks = chunks;
        int32_t *lengths = realloc(core->lengths, (size_t)frames * sizeof *lengths);
        if (lengths)
            core->lengths = lengths;
        int32_t *next = realloc(core->next, (size_t)frames * sizeof *next);
        if (next)
            core->next = next;
        if (!chunks || !lengths || !next || !(chunks[count] = malloc((size_t)core->stride * FRAMES_PER_CHUNK))) {
            core->broken = 1;
            return NO_FRAME;
        }
        core->chunk_count++;
        for (int32_t frame = frames - 1; frame >= frames - FRAMES_PER_CHUNK; frame--)
            sim_frame_free(core, frame);
    }
    int32_t frame = core->free;
    core->free = core->next[frame];
    return frame;
}

void sim_free(struct sim_core *core)
{
    for (int32_t chunk = 0; chunk < core->chunk_count; chunk++)
        free(core->chunks[chunk]);
    free(core->chunks);
    free(core->lengths);
    free(core->next);
    free(core->heap);
    free(core->notes);
    free(core);
}

struct sim_core *sim_new(int64_t stride, uint64_t salt)
{
    struct sim_core *core = calloc(1, sizeof *core);
    if (core) {
        core->stride = stride;
        core->salt = salt;
        core->free = core->frame = core->pending = NO_FRAME;
        core->notes = calloc(NOTES, sizeof *core->notes);
        if (!core->notes) {
            sim_free(core);
            core = NULL;
        }
    }
    return core;
}

/* An appointment of Python's. */
void sim_at(struct sim_core *core, int64_t time, uint64_t actor, int32_t number)
{
    sim_push(core, time, actor, EVENT_CALL, number, 0, NO_FRAME);
}

/* When the next appointment is; -1: there is none. */
int64_t sim_next_time(const struct sim_core *core) { return core->events ? core->heap[0].time : -1; }

/* A frame with these octets; NO_FRAME when they are too long for a frame or there is no memory. */
int32_t sim_frame_of(struct sim_core *core, const uint8_t *octets, int64_t length)
{
    int32_t frame = length >= 0 && length <= core->stride ? sim_frame_new(core) : NO_FRAME;
    if (frame != NO_FRAME) {
        memcpy(sim_frame_at(core, frame), octets, (size_t)length);
        core->lengths[frame] = (int32_t)length;
    }
    return frame;
}

/* A frame that a filter holds until then: into the node, or out of it. -1 when it cannot be kept. */
int sim_hold(struct sim_core *core, int64_t time, uint64_t actor, int32_t node, int32_t port, int32_t leaving,
             const uint8_t *octets, int64_t length)
{
    int32_t frame = sim_frame_of(core, octets, length);
    if (frame == NO_FRAME)
        return -1;
    sim_push(core, time, actor, leaving ? EVENT_LEAVE : EVENT_ENTER, node, port, frame);
    return 0;
}

const struct ina_field sim_wire_layout[] = {
    INA_FIELD(sim_wire, rate_bps), INA_FIELD(sim_wire, limit), INA_FIELD(sim_wire, longest),
    INA_FIELD(sim_wire, marks_from), INA_FIELD(sim_wire, low_until), INA_FIELD(sim_wire, remainder), INA_FIELD(sim_wire, frames),
    INA_FIELD(sim_wire, bytes), INA_FIELD(sim_wire, drops), INA_FIELD(sim_wire, early), INA_FIELD(sim_wire, marks), INA_FIELD(sim_wire, first_at),
    INA_FIELD(sim_wire, last_at), INA_FIELD(sim_wire, actor), INA_FIELD(sim_wire, waiting), INA_FIELD(sim_wire, queued), INA_FIELD(sim_wire, head),
    INA_FIELD(sim_wire, tail), INA_FIELD(sim_wire, busy), INA_FIELD(sim_wire, number), INA_FIELD(sim_wire, source),
    INA_FIELD(sim_wire, to_node), INA_FIELD(sim_wire, to_port), INA_FIELD(sim_wire, serves_classes),
    INA_FIELD(sim_wire, tells_drops), INA_FIELD(sim_wire, unused),
    INA_END(sizeof(struct sim_wire))
};

const struct ina_field sim_node_layout[] = {
    INA_FIELD(sim_node, actor), INA_FIELD(sim_node, armed), INA_FIELD(sim_node, frames_in),
    INA_FIELD(sim_node, bytes_in), INA_FIELD(sim_node, forwarded), INA_FIELD(sim_node, wires),
    INA_FIELD(sim_node, ingress), INA_FIELD(sim_node, egress), INA_FIELD(sim_node, appointed),
    INA_FIELD(sim_node, held), INA_FIELD(sim_node, program), INA_FIELD(sim_node, queue), INA_FIELD(sim_node, macs),
    INA_FIELD(sim_node, tape), INA_FIELD(sim_node, tape_used), INA_FIELD(sim_node, tape_room),
    INA_FIELD(sim_node, machine), INA_FIELD(sim_node, alive), INA_FIELD(sim_node, paused), INA_FIELD(sim_node, is_held),
    INA_END(sizeof(struct sim_node))
};

/* The part that Python knows. */
const struct ina_field sim_core_layout[] = {
    INA_FIELD(sim_core, now), INA_FIELD(sim_core, salt), INA_FIELD(sim_core, wires), INA_FIELD(sim_core, nodes),
    INA_FIELD(sim_core, data), INA_FIELD(sim_core, length), INA_FIELD(sim_core, number), INA_FIELD(sim_core, stride),
    INA_FIELD(sim_core, stage), INA_FIELD(sim_core, node), INA_FIELD(sim_core, port), INA_FIELD(sim_core, wire),
    INA_FIELD(sim_core, refused), INA_FIELD(sim_core, broken),
    INA_FIELD(sim_core, notes), INA_FIELD(sim_core, noted), INA_END(offsetof(struct sim_core, heap))
};
