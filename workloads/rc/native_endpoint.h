/* An endpoint that compiled code keeps for a while, and drives frame by frame: plain packets and NAKs in, answers and the
 * packets of posted messages out, without a step of Python in between. native_endpoint.py hands it over and takes it back. */
#ifndef INA_RC_NATIVE_ENDPOINT_H
#define INA_RC_NATIVE_ENDPOINT_H

#include "irn.h"
#include "../collectives/ring.h"

enum { RC_ENDPOINT_ANSWERS = 256 };

enum rc_endpoint_outcome {
    RC_ENDPOINT_DONE = 0,
    RC_ENDPOINT_NONE = 1,   /* nothing to send */
    RC_ENDPOINT_PYTHON = 2, /* not the plain case; nothing has changed */
    RC_ENDPOINT_NEWS = 3,   /* something completes: see `news` */
    RC_ENDPOINT_NO_ROOM = 4 /* the frame is longer than `room`; nothing has changed */
};

/* Of a responder, as responder_table.py has it. */
enum rc_endpoint_order {
    RC_REFUSES = 0, /* in error */
    RC_IN_ORDER = 1,
    RC_GAP = 2 /* a sequence NAK was sent for the expected PSN */
};

/* What Python only has to report: an event, at the time when it happened. */
enum rc_endpoint_kind {
    RC_NOTE_NONE = 0,
    RC_NOTE_GAP = 1,      /* a sequence NAK is due. a: the missing PSN */
    RC_NOTE_WENT_BACK = 2, /* for a NAK. a: the PSN, and from bit 24 on how many packets lie from there on; b: resent before */
    RC_NOTE_ACKED = 3 /* messages completed. a: everything in front of this sequence number arrived */
};

enum rc_endpoint_news { RC_NEWS_NONE = 0, RC_NEWS_ACK = 1, RC_NEWS_CLOSED = 2 };

struct rc_endpoint_answer {
    uint32_t psn;
    uint32_t aeth;
};

/* What an endpoint knows of a queue pair beside its context. */
struct rc_endpoint_qp {
    const uint8_t *octets; /* what its ACK frames begin with, and the iCRC's CRC-32 behind that */
    uint32_t octets_bytes;
    uint32_t state;
    uint32_t aeth;  /* of a positive answer now */
    uint32_t order; /* enum rc_endpoint_order */
    /* Since it was handed over. */
    uint32_t acks;
    uint32_t taken; /* requests */
    uint32_t flags; /* enum rc_flag */
    uint32_t made;  /* answers that fell due here */
    uint32_t first; /* the oldest of `answers` */
    uint32_t waiting;
    uint32_t left;  /* answers that were sent */
    uint32_t duplicates;
    uint32_t gaps; /* sequence NAKs that fell due here */
    uint32_t naks; /* received */
    uint64_t placed; /* bytes */
    struct rc_endpoint_answer answers[RC_ENDPOINT_ANSWERS];
};

struct rc_endpoint {
    struct rc_qp_context *contexts;
    struct rc_endpoint_qp *qps;
    const struct rc_region *regions;
    int32_t qp_count;
    int32_t region_count;
    /* The queue pair that has something to send; all others have nothing. Sequence numbers do not wrap. */
    const struct irn_message *messages; /* oldest first; others may be posted in front and behind */
    int64_t una;
    int64_t nxt;
    int64_t max_nxt;
    int64_t posted_end;
    int64_t oldest_end; /* behind the oldest message */
    int64_t window;
    int64_t rto;      /* ns; 0: never */
    int64_t deadline; /* -1: none */
    int64_t sent;     /* packets since it was handed over */
    int64_t others;   /* the first of all other timers, -1: none */
    int64_t resent;   /* packets in all */
    int64_t quiet;    /* ACKs of everything in front of it, or less, are only noted; -1: of no completed message */
    int32_t since;    /* packets since the last AckReq */
    int32_t ack_every;
    int32_t sends;  /* its state lets it send, and hear ACKs */
    int32_t sender; /* index; -1: none */
    int32_t turn;   /* of the endpoint */
    int32_t turn_packets;
    int32_t turn_limit;
    int32_t message_count;
    int32_t is_retrying; /* it went back, and nothing new was acknowledged since */
    int32_t retries;     /* that are left */
    int32_t retry_count; /* that are left after progress */
    int32_t is_patient;  /* retries never run out */
    int32_t spent;       /* retries, since progress or since it was handed over */
    int32_t news; /* enum rc_endpoint_news */
    int32_t news_qp;
    int32_t news_distance;
    struct irn_entry note; /* since the last frame; `kind` is an enum rc_endpoint_kind */
    struct irn_end *irn; /* all queue pairs use IRN, and this has them; nothing above counts then. NULL: go-back-N */
    struct ring_held *carried; /* a ring that is carried on here, too; NULL: by Python */
};

enum rc_endpoint_outcome rc_endpoint_receive(struct rc_endpoint *held, const uint8_t *frame, int32_t length, int64_t now);
enum rc_endpoint_outcome rc_endpoint_pull(struct rc_endpoint *held, uint8_t *frame, size_t room, int32_t *length, int64_t now);

/* ring.c */
int ring_received(struct rc_endpoint *held, int32_t index);
int ring_goes_on(const struct rc_endpoint *held, int64_t acknowledged);
void ring_sent(struct rc_endpoint *held, int64_t acknowledged);

/* As Machine.get_timer; -1: never. */
static inline int64_t rc_endpoint_timer(const struct rc_endpoint *held)
{
    if (held->irn)
        return irn_timer(held->irn);
    if (held->others < 0 || (held->deadline >= 0 && held->deadline < held->others))
        return held->deadline;
    return held->others;
}

#endif
