/* Where a data packet belongs, from its headers and what the connection table knows: the straight cases of frames.py,
 * connections.py and placement.py. What they do not answer is left to Python. */
#ifndef INA_NETREDUCE_PLACE_H
#define INA_NETREDUCE_PLACE_H

#include "state.h"

/* Bytes of extension headers of an RC data opcode; -1 for those that are left to Python. */
static int extension_bytes(uint8_t opcode) { return opcode <= OPCODE_WRITE_ONLY_IMM ? rc_extension_bytes(opcode) : -1; }

/* Of the opcodes of data. */
static int is_in(uint32_t set, uint8_t opcode) { return opcode < 32 && set >> opcode & 1; }
static int is_rc_data(uint8_t opcode) { return is_in(RC_DATA_OPCODES, opcode); }
static int is_only(uint8_t opcode) { return is_in(RC_STARTS & RC_ENDS, opcode); }
static int starts_message(uint8_t opcode) { return is_in(RC_STARTS, opcode); }
static int ends_message(uint8_t opcode) { return is_in(RC_ENDS, opcode); }

/* workloads/wire/packet.py: continues */
static int continues(uint8_t opcode, const uint8_t *frame, int32_t size)
{
    return (opcode == OPCODE_WRITE_ONLY || opcode == OPCODE_WRITE_ONLY_IMM)
        && (int64_t)get32(frame + EXT_AT + RETH_LENGTH) > size;
}

/* fabric.py: accepts */
static int accepts(const struct netreduce_ring *ring, int32_t rank, int32_t port)
{
    if (!ring->leaf || rank != inbound_of(ring))
        return ring->ingress[rank] == port;
    for (int32_t i = 0; i < ring->uplink_count; i++)
        if (ring->uplinks[i] == port)
            return 1;
    return 0;
}

/* The ring that carries this packet, and its rank; NULL when none does. *edge is set when the addresses are those of an
 * edge of any ring. */
static struct netreduce_ring *find_connection(
    const struct netreduce_switch *sw, const struct roce_view *view, int32_t port, int32_t *rank, int *edge)
{
    uint64_t addresses = (uint64_t)view->src_ip << 32 | view->dst_ip;
    struct netreduce_ring *found = NULL;
    *edge = 0;
    for (struct netreduce_ring *ring = sw->rings; ring < sw->rings + sw->ring_count; ring++)
        for (int32_t k = 0; k < ring->connections; k++)
            if (ring->edge[k] == addresses) {
                *edge = 1;
                if (!found && ring->qpn[k] == view->qpn && accepts(ring, k, port)) {
                    found = ring;
                    *rank = k;
                }
            }
    return found;
}

/* Where a data packet belongs. */
struct place {
    int64_t message;
    int32_t offset;
    int32_t packets;
};

/* connections.py: match. */
static int match(const struct netreduce_ring *ring, int32_t rank, uint32_t psn, struct place *place, int64_t *id)
{
    for (int32_t i = rank * ring->entries; i < (rank + 1) * ring->entries; i++) {
        int32_t distance = psn_diff(psn, (uint32_t)ring->entry_psn[i]);
        if (ring->entry_message[i] >= 0 && distance >= 0 && distance < ring->entry_length[i]) {
            *place = (struct place){ring->entry_message[i], distance, ring->entry_length[i]};
            *id = ring->entry_id[i];
            return 1;
        }
    }
    return 0;
}

/* Index of a message in the entries of a rank; -1 when it is not there. */
static int64_t entry_of(const struct netreduce_ring *ring, int32_t rank, int64_t message)
{
    int64_t index = rank * ring->entries + message % ring->entries;
    return message >= 0 && ring->entry_message[index] == message ? index : -1;
}

/* Whether a FIRST or ONLY has the INA header of this connection and agrees with all that is known (placement.py: _start,
 * connections.py: agrees). Connections that carried other messages too are left to Python. */
static int start(const struct netreduce_ring *ring, int32_t rank, const uint8_t *header, int only, uint32_t psn,
                 struct place *place)
{
    int64_t message = get32(header + INA_HEADER_MSG_ID), announced = packets_of(ring, message), newest = ring->newest[rank];
    int32_t packets = get16(header + INA_HEADER_MSG_LEN_PKTS);
    if (ring->spine || header[INA_HEADER_MAGIC] != INA_HEADER_MAGIC_VALUE
        || header[INA_HEADER_VERSION] != INA_HEADER_VERSION_VALUE
        || !(header[INA_HEADER_AGG] >> INA_HEADER_AGG_SHIFT & INA_HEADER_AGG_MASK)
        || header[INA_HEADER_OP] != (ring->op << INA_HEADER_OP_SHIFT | ring->dtype << INA_HEADER_DTYPE_SHIFT)
        || get16(header + INA_HEADER_RING_ID) != ring->id
        || (header[INA_HEADER_RANK_HIGH] << 8 | header[INA_HEADER_RANK]) != ring->ranks[rank]
        || (header[INA_HEADER_SIZE_HIGH] << 8 | header[INA_HEADER_SIZE]) != ring->group || packets < 1
        || packets > ring->message_packets || only != (packets == 1) || (announced && announced != packets)
        || ring->plain_from[rank] >= 0)
        return 0;
    int64_t last = entry_of(ring, rank, newest), same = entry_of(ring, rank, message);
    int64_t before = entry_of(ring, rank, message - 1), after = entry_of(ring, rank, message + 1);
    if (last >= 0 && (psn_diff(psn, (uint32_t)ring->entry_psn[last]) > 0) != (message > newest))
        return 0;
    if (same >= 0 && ((uint32_t)ring->entry_psn[same] != psn || ring->entry_length[same] != packets))
        return 0;
    if (before >= 0 && psn_add((uint32_t)ring->entry_psn[before], ring->entry_length[before]) != psn)
        return 0;
    if (after >= 0 && psn_add(psn, packets) != (uint32_t)ring->entry_psn[after])
        return 0;
    *place = (struct place){message, 0, packets};
    return 1;
}

/* placement.py: _named, of a message that is in the table; and whether the RETH of a FIRST or ONLY names its place. */
static int is_named(const struct netreduce_ring *ring, int32_t rank, const uint8_t *frame, int64_t id, const struct place *place)
{
    uint64_t va = get64(frame + EXT_AT + RETH_VA), base = ring->receive_vas[rank], mtu = (uint64_t)ring->mtu;
    int64_t length = get32(frame + EXT_AT + RETH_LENGTH), packets = (length + ring->mtu - 1) / ring->mtu;
    if (va < base || (va - base) % mtu || (packets ? packets : 1) != place->packets)
        return 0;
    return (int64_t)((va - base) / mtu) == id * ring->message_packets + place->offset;
}

/* ring.py: announce, connections.py: put; for a FIRST or ONLY whose slot serves its message. */
static void note_message(struct netreduce_ring *ring, int32_t rank, const struct place *place, uint32_t psn)
{
    int64_t index = place->message % ring->banks, entry = rank * ring->entries + place->message % ring->entries;
    if (ring->message[index] != place->message) {
        ring->message[index] = place->message;
        ring->announced[index] = place->packets;
        ring->completed[index] = 0;
        memset(ring->entered + index * ring->size, 0, (size_t)ring->size * sizeof *ring->entered);
    }
    if (ring->entry_message[entry] >= place->message)
        return;
    ring->entry_message[entry] = place->message;
    ring->entry_id[entry] = place->message; /* not for a spine, which is left to Python */
    ring->entry_psn[entry] = (int32_t)psn;
    ring->entry_length[entry] = place->packets;
    if (place->message > ring->newest[rank])
        ring->newest[rank] = place->message;
}

#endif
