/* The event loop of the simulated world (agenda.py, wire.py and nodes.py beside this folder are the reference), for frames
 * that compiled paths take. native/agenda.py drives it and does all that is left to Python. */
#ifndef INA_SIM_CORE_H
#define INA_SIM_CORE_H

#include <stddef.h>
#include <stdint.h>

#include "../../../../switch_nodes/forwarding/frame_queue.h"
#include "../../../../workloads/native/dscp.h"
#include "../../../../workloads/rc/native_endpoint.h"
#include "../../../faults/link.h"

enum { NO_FRAME = -1, FRAMES_PER_CHUNK = 256, NOTES = 1 << 14, MOST_STAGES = 1 << 15 };

enum kind { EVENT_CALL, EVENT_END, EVENT_WAKE, EVENT_ENTER, EVENT_LEAVE };

/* What an event still has to do. */
enum stage { STAGE_NONE, STAGE_PULL, STAGE_DELIVER, STAGE_ENTER, STAGE_DRAIN, STAGE_LEAVE, STAGE_KICK };

/* Why sim_run came back: what Python has to do. */
enum why {
    WHY_DRY,       /* nothing more to do before the limit */
    WHY_CALL,      /* keep appointment `number` */
    WHY_OFFER,     /* bring the host's Machine up to date and hand it over */
    WHY_PULL,      /* ask the wire's `refill` */
    WHY_ADMIT_IN,  /* ask the filter of an incoming port; the event ends with what follows */
    WHY_ADMIT_OUT, /* ask the filter of an outgoing port */
    WHY_ARRIVE,    /* give the frame to the node, behind its filter */
    WHY_SETTLE,    /* collect from the node what it has to say and to send */
    WHY_NEWS,      /* the held Machine has something to tell: take it back, then settle */
    WHY_TELL,      /* collect the events of the switch */
    WHY_WAKE,      /* the node's alarm */
    WHY_ROOM,      /* the switch's queue of frames, or its log, is full */
    WHY_NO_MEMORY,
    WHY_RECORD_IN, /* the tap of the switch is to see the frame */
    WHY_RECORD_OUT,
    WHY_DROPPED, /* the switch is to tell that the wire did not take it, `number` says why (enum sent) */
    WHY_TOO_LONG, /* a frame of `length` bytes, or of unknown length if that is 0, is longer than `stride` */
    WHY_AIR       /* it ran for long enough: Python may have signals to answer */
};

enum machine { BY_VERBS, HOST, NETREDUCE, FORWARD };

/* One direction of a link. */
struct sim_wire {
    int64_t rate_bps;
    int64_t limit;      /* frames that may wait, of each layer class where they are served */
    int64_t longest;    /* bytes */
    int64_t marks_from; /* a frame gets CE while so many wait */
    int64_t low_until;  /* a frame of the low class is dropped while so many wait */
    int64_t remainder;
    int64_t frames;
    int64_t bytes;
    int64_t drops;
    int64_t early; /* dropped for their class */
    int64_t marks;
    int64_t first_at;
    int64_t last_at;
    uint64_t actor;
    int64_t waiting; /* in all */
    int32_t queued[LAYER_CLASSES];
    int32_t head[LAYER_CLASSES]; /* oldest frame that waits, by layer class; NO_FRAME: none does */
    int32_t tail[LAYER_CLASSES];
    int32_t busy;
    int32_t number;
    int32_t source; /* host that is asked for the next frame; -1: none is */
    int32_t to_node;
    int32_t to_port;
    int32_t serves_classes;
    int32_t tells_drops; /* the switch tells of each frame that is not taken */
    int32_t unused;
};

struct netreduce_switch;

struct sim_node {
    uint64_t actor;
    int64_t armed; /* -1: not */
    int64_t frames_in;
    int64_t bytes_in;
    int64_t forwarded;
    struct sim_wire **wires;   /* outgoing, by port */
    struct ina_link **ingress; /* by port; NULL where there is no filter */
    struct ina_link **egress;
    int64_t *appointed; /* by 2 * port + outgoing: when the last frame that the filter there holds back is due */
    struct rc_endpoint *held;
    struct netreduce_switch *program;
    struct frame_queue *queue;
    struct mac_table *macs;
    uint8_t *tape; /* what its tap has not heard of yet; NULL: it has no tap */
    int64_t tape_used;
    int64_t tape_room;
    int32_t machine; /* enum machine */
    int32_t alive;
    int32_t paused;
    int32_t is_held;
};

struct sim_event {
    int64_t time;
    uint64_t tie;
    uint64_t made;
    int32_t kind;
    int32_t where; /* appointment, wire or node */
    int32_t port;
    int32_t frame;
};

/* What a switch or a host noted in its log, for Python to tell before anything else is told. */
struct sim_note {
    int64_t time;
    int64_t node;
    int64_t entry[5]; /* as in the log of the program, or of the host's queue pairs */
};

struct sim_core {
    /* Shared with Python. */
    int64_t now;
    uint64_t salt;
    struct sim_wire **wires;
    struct sim_node **nodes;
    uint8_t *data; /* of the frame that Python is asked about; it is there until the next call */
    int64_t length;
    int64_t number; /* WHY_CALL */
    int64_t stride; /* room of a frame */
    int32_t stage;  /* enum stage */
    int32_t node;
    int32_t port;
    int32_t wire;
    int32_t refused; /* the node was offered in vain */
    int32_t broken;  /* there was no memory */
    struct sim_note *notes;
    int64_t noted;
    /* Own. */
    struct sim_event *heap;
    int64_t events;
    int64_t room;
    uint64_t made;
    uint8_t **chunks;
    int32_t *lengths;
    int32_t *next; /* frame behind this one, in a queue or among the free */
    int32_t chunk_count;
    int32_t free;
    int32_t frame;   /* of the event that is being kept */
    int32_t pending; /* frame to be given up with the next call */
};

enum sent { SENT = 0, MISFIT = 1, QUEUE_FULL = 2, EARLY = 3 };

/* agenda.c, which calls none of the others: core.c and wire.c call it. */
void sim_push(struct sim_core *core, int64_t time, uint64_t actor, int32_t kind, int32_t where, int32_t port, int32_t frame);
struct sim_event sim_pop(struct sim_core *core);
int32_t sim_frame_new(struct sim_core *core);
int32_t sim_frame_of(struct sim_core *core, const uint8_t *octets, int64_t length);

static inline uint8_t *sim_frame_at(const struct sim_core *core, int32_t frame)
{
    return core->chunks[frame / FRAMES_PER_CHUNK] + (int64_t)(frame % FRAMES_PER_CHUNK) * core->stride;
}

static inline void sim_frame_free(struct sim_core *core, int32_t frame)
{
    core->next[frame] = core->free;
    core->free = frame;
}

#endif
