/* The commodity switch on batches: the redirect of a job's data, and forwarding between known hosts. See
 * switch_nodes/steering/fast.py. */
#include <stddef.h>

#include "../forwarding/frame_queue.h"
#include "layout.h"

struct steer_edge {
    uint64_t addresses; /* source and destination, as one big-endian number */
    int32_t in_port;
    int32_t out; /* NO_PORT: drop */
};

struct steer_table {
    const struct steer_edge *edges;
    int64_t *counters; /* steered, withheld, forwarded */
    int32_t count;
    int32_t dscp;
};

enum { STEERED, WITHHELD, PASSED };
enum matched { NO_MATCH, MATCH, MATCH_ASK };

/* IPv4 without options and unfragmented, or the question is for Python. */
static enum matched match_edge(
    const struct steer_table *steer, const uint8_t *frame, int32_t length, int32_t port, const struct steer_edge **found)
{
    if (length < ETH_BYTES || big_endian(frame + ETH_ETHERTYPE, 2) != ETHERTYPE_V4)
        return NO_MATCH;
    if (length < BTH_AT || frame[IP_AT] != 0x45 || big_endian(frame + IP_FLAGS_FRAGMENT, 2) & 0x3FFF)
        return MATCH_ASK;
    if (frame[IP_TOS] >> 2 != steer->dscp || frame[IP_PROTOCOL] != PROTOCOL_UDP
        || big_endian(frame + UDP_DPORT, 2) != ROCE_UDP_PORT)
        return NO_MATCH;
    uint64_t addresses = big_endian(frame + IP_SRC, 8);
    for (int32_t at = 0; at < steer->count; at++) {
        const struct steer_edge *edge = steer->edges + at;
        if (edge->addresses == addresses && edge->in_port == port) {
            *found = edge;
            return MATCH;
        }
    }
    return NO_MATCH;
}

/* As forward_rows. */
int32_t steer_rows(
    const struct steer_table *steer, const struct mac_table *table, struct frame_queue *queue, const uint8_t *frames,
    int64_t stride, const int32_t *lengths, const int32_t *ports, int32_t row, int32_t count, int32_t *asked)
{
    *asked = 0;
    for (; row < count; row++) {
        const uint8_t *frame = frames + row * stride;
        const struct steer_edge *edge = NULL;
        enum matched what = match_edge(steer, frame, lengths[row], ports[row], &edge);
        if (what == MATCH_ASK) {
            *asked = 1;
            break;
        }
        if (what == MATCH && (edge->out == NO_PORT)) {
            steer->counters[WITHHELD]++;
        } else if (what == MATCH) {
            if (!queue_has_room(queue, 1, lengths[row]))
                break;
            memcpy(queue_tail(queue), frame, (size_t)lengths[row]);
            queue_push(queue, edge->out, lengths[row]);
            steer->counters[STEERED]++;
        } else {
            enum forwarded done = forward_static(table, queue, frame, lengths[row], ports[row]);
            if (done != FORWARDED) {
                *asked = done == FORWARD_ASK;
                break;
            }
            steer->counters[PASSED]++;
        }
    }
    return row;
}

const struct ina_field steer_table_layout[] = {
    INA_FIELD(steer_table, edges), INA_FIELD(steer_table, counters), INA_FIELD(steer_table, count),
    INA_FIELD(steer_table, dscp), INA_END(sizeof(struct steer_table))
};

const struct ina_field steer_edge_layout[] = {
    INA_FIELD(steer_edge, addresses), INA_FIELD(steer_edge, in_port), INA_FIELD(steer_edge, out),
    INA_END(sizeof(struct steer_edge))
};
