/* An endpoint whose queue pairs all use irn or irn-held, in compiled code: frame by frame, or in batches. irn_compiled.py lays
 * it out, hands it over and takes it back. Sequence numbers do not wrap, PSNs have 24 bits; times are in ns. */
#ifndef INA_RC_IRN_H
#define INA_RC_IRN_H

#include "fast.h"
#include "wire_layout.h"

enum {
    IRN_BITS = 8192, /* packets of a bitmap, at most; divides 2^24 */
    IRN_WORDS = IRN_BITS / 64,
    IRN_ANSWERS = 256,
    IRN_MESSAGES = 64,
    IRN_MAP_BYTES = HELD_MAP_BYTES,
    IRN_LOG = 64
};

/* What became of a frame, or of the wish for one; the same numbers as enum rc_endpoint_outcome. */
enum irn_fate {
    IRN_DONE = 0,
    IRN_NONE = 1,
    IRN_PYTHON = 2, /* not the plain case; nothing has changed */
    IRN_NEWS = 3,   /* done, and the log is not empty */
    IRN_NO_ROOM = 4
};

/* Events and completions, in the order in which they came about. */
enum irn_news {
    IRN_SENT_AGAIN = 1, /* a: PSN; b: because a timer was over */
    IRN_GAP = 2,        /* a: the missing PSN */
    IRN_RECEIVED = 3,   /* a message. a: its immediate data; b: its bytes */
    IRN_ACKNOWLEDGED = 4 /* the end of a message at least. a: everything in front of that sequence number */
};

struct irn_entry {
    int64_t kind;
    int64_t pair;
    int64_t a;
    int64_t b;
};

struct irn_bitmap {
    int64_t bits; /* behind the highest that is set; words behind that may hold anything */
    uint64_t words[IRN_WORDS];
};

/* Sequence numbers of a message that was posted and is not acknowledged. */
struct irn_message {
    int64_t first;
    int64_t end;
    const struct rc_plan *plan;
};

struct irn_answer {
    uint32_t psn; /* of the packet that is answered */
    uint32_t aeth;
    uint32_t cumulative;
    uint32_t map_bytes; /* IRN_MAP_BYTES, or 0: it has no map */
    uint8_t map[IRN_MAP_BYTES];
};

/* A packet that is in place and not delivered. */
struct irn_kept {
    uint32_t size;
    uint32_t length; /* of its message */
    uint32_t imm;
    uint32_t flags; /* enum irn_flag */
};

enum irn_flag { IRN_STARTS = 1, IRN_ENDS = 2 };

/* What irn-held adds to a queue pair; held_compiled.py lays it out. */
struct irn_held {
    int64_t *places; /* by sequence number, & mask: place of the last copy among all that left. NULL: the pair has irn */
    int64_t mask;
    const uint8_t *octets; /* what answers with a map begin with, and the iCRC's CRC-32 behind that */
    int64_t octets_bytes;
    int64_t state;
    int64_t copies;         /* that left */
    int64_t told_to;        /* PSN behind the last map */
    struct irn_bitmap lost; /* to be sent again; bit 0: una */
};

struct irn_pair {
    /* The connection. */
    int64_t src_ip;
    int64_t dst_ip;
    int64_t qpn;
    int64_t payload_bytes; /* path MTU */
    int64_t octets_bytes;  /* what its answers begin with, and the iCRC's CRC-32 behind that */
    int64_t state;
    const uint8_t *octets;
    /* irn_sender.py: configuration, then state. */
    int64_t cap;
    int64_t in_order;
    int64_t few_packets;
    int64_t rto_low;
    int64_t rto_high;
    int64_t failed; /* either half: everything is Python's */
    int64_t posted_end;
    int64_t messages; /* of the array below */
    int64_t una;
    int64_t nxt;
    int64_t recovering;
    int64_t recover_to;
    int64_t again;
    int64_t is_due;
    int64_t lost_to;
    int64_t deadline; /* -1: none */
    int64_t armed_at;
    int64_t is_extended;
    int64_t progress_at;
    int64_t timed_out;
    /* irn_receiver.py */
    int64_t expected;
    int64_t msn;
    int64_t receives; /* posted */
    int64_t size;     /* of the message that is arriving; -1 between messages */
    /* Answers that wait. */
    int64_t first_answer;
    int64_t answers_waiting;
    /* Since it was handed over: the counters of tally.py. */
    int64_t packets_sent;
    int64_t packets_retransmitted;
    int64_t packets_received;
    int64_t duplicates;
    int64_t acks_sent;
    int64_t acks_received;
    int64_t naks_sent;
    int64_t naks_received;
    struct irn_bitmap arrived; /* bit 0: una */
    struct irn_bitmap here;    /* bit 0: expected */
    struct irn_message message[IRN_MESSAGES];
    struct irn_answer answer[IRN_ANSWERS];
    struct irn_kept kept[IRN_BITS]; /* by PSN */
    struct irn_held held;
};

struct irn_end {
    struct irn_pair *pairs;
    const struct rc_region *regions;
    uint64_t *touched; /* bitmap of the pairs that changed here */
    int64_t pair_count;
    int64_t region_count;
    int64_t turn;
    int64_t turn_packets;
    int64_t turn_limit;
    int64_t others; /* the first of all other timers, -1: none */
    int64_t news;   /* entries of the log */
    struct irn_entry log[IRN_LOG];
};

enum irn_fate irn_receive(struct irn_end *end, const uint8_t *frame, int32_t length, int64_t now);
enum irn_fate irn_pull(struct irn_end *end, uint8_t *frame, size_t room, int32_t *length, int64_t now);
int irn_accept(struct irn_end *end, const uint8_t *frames, size_t stride, const int32_t *lengths, int row, int rows, int64_t now);
int irn_emit(struct irn_end *end, uint8_t *frames, size_t stride, int32_t *lengths, int32_t *ports, int row, int count,
             int index, int64_t now);

/* As Machine.get_timer; -1: never. */
static inline int64_t irn_timer(const struct irn_end *end)
{
    int64_t first = end->others;
    for (int64_t i = 0; i < end->pair_count; i++) {
        int64_t deadline = end->pairs[i].deadline;
        if (deadline >= 0 && (first < 0 || deadline < first))
            first = deadline;
    }
    return first;
}

#endif
