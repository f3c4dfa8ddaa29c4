/* The NetReduce program on batches: the cases that make up nearly all traffic, on the arrays of switch_nodes/netreduce/
 * ring.py. Whatever is not handled here goes, frame by frame, through the Python reference (program.py), which decides
 * by the tables of tables.py; a differential test proves that both leave the same frames, events and arrays behind.
 *
 * Handled: data of a connection that the table knows, with a valid iCRC, of the message that its slot serves: a MIDDLE or
 * LAST whose message is in the table, a FIRST or ONLY that agrees with it. Stored, folded and released when it completes
 * the slot; absorbed when it is a duplicate, answered when it is a duplicate of an answered one. And what bypasses the
 * rings between static forwarding entries. */
#include "fold.h"
#include "release.h"
#include "state.h"

enum { /* ina_header.INA_LAYOUT */
    INA_MAGIC = 0, INA_VERSION = 1, INA_OP_DTYPE = 2, INA_FLAGS = 3, INA_RING = 4, INA_RANK = 6, INA_SIZE = 7,
    INA_MESSAGE = 8, INA_PACKETS = 12, INA_HEADER_BYTES = 16
};
enum { RETH_LENGTH = EXT_AT + 12 };
enum { WHY_DONE, WHY_PYTHON, WHY_ROOM, WHY_LOG };                               /* fast._Why */

/* program.py: reclaim and clear */
static void reclaim(struct netreduce_ring *ring, int64_t message, int64_t offset)
{
    int64_t before = message - (ring->banks - ring->window);
    if (before < 0)
        return;
    int64_t end = offset == packets_of(ring, message) - 1 ? ring->message_packets : offset + 1;
    for (int64_t slot = slot_of(ring, before, offset), last = slot_of(ring, before, end); slot < last; slot++) {
        if (ring->tag[slot] != before)
            continue;
        ring->cursor[OCCUPIED] -= ring->bitmap[slot] != 0;
        ring->tag[slot] += ring->banks;
        ring->bitmap[slot] = ring->released[slot] = 0;
        ring->done[slot] = ring->ce[slot] = 0;
        ring->length[slot] = 0;
    }
}

static void note(struct netreduce_switch *sw, int kind, int64_t ring, int32_t rank, int64_t message, int64_t offset)
{
    int64_t *entry = sw->log + LOG_FIELDS * sw->log_used++;
    entry[0] = kind;
    entry[1] = ring;
    entry[2] = rank;
    entry[3] = message;
    entry[4] = offset;
}

/* slot_actions.py: _sum */
static void sum(struct netreduce_switch *sw, struct netreduce_ring *ring, int64_t message, int64_t slot, uint8_t *into)
{
    int64_t index = message % ring->banks;
    fold(ring, slot, into);
    for (int32_t rank = 0; rank < ring->size; rank++)
        ring->entered[index * ring->size + rank]++;
    if (++ring->completed[index] == packets_of(ring, message))
        note(sw, LOG_AGGREGATED, ring - sw->rings, 0, message, 0);
}

/* slot_actions.py: _finish_slot */
static void finish_slot(struct netreduce_switch *sw, struct netreduce_ring *ring, int64_t message, int64_t offset)
{
    ring->done[slot_of(ring, message, offset)] = 1;
    reclaim(ring, message, offset);
    release_completed(sw, ring, message, offset);
}

/* Whether so many results fit the queue. */
static int has_room(struct netreduce_switch *sw, const struct netreduce_ring *ring, int64_t frames)
{
    int64_t bytes = frames * (HEADER_ROOM + ring->mtu + ICRC_BYTES);
    if (queue_has_room(sw->queue, frames, bytes))
        return 1;
    sw->room_frames = frames;
    sw->room_bytes = bytes;
    return 0;
}

/* Bytes of extension headers of an RC data opcode; -1 for those that are left to Python. */
static int extension_bytes(uint8_t opcode)
{
    switch (opcode) {
    case 0x00: /* SEND_FIRST */
    case 0x01: /* SEND_MIDDLE */
    case 0x02: /* SEND_LAST */
    case 0x04: /* SEND_ONLY */
    case 0x07: /* WRITE_MIDDLE */
    case 0x08: /* WRITE_LAST */
        return 0;
    case 0x03: /* SEND_LAST_IMM */
    case 0x05: /* SEND_ONLY_IMM */
    case 0x09: /* WRITE_LAST_IMM */
        return IMM_BYTES;
    case 0x06: /* WRITE_FIRST */
    case 0x0A: /* WRITE_ONLY */
        return RETH_BYTES;
    case 0x0B: /* WRITE_ONLY_IMM */
        return RETH_BYTES + IMM_BYTES;
    default:
        return -1;
    }
}

static int is_rc_data(uint8_t opcode) { return opcode <= 0x0B || opcode == 0x16 || opcode == 0x17; }
static int is_only(uint8_t opcode) { return opcode == 0x04 || opcode == 0x05 || opcode == 0x0A || opcode == 0x0B; }
static int starts_message(uint8_t opcode) { return opcode == 0x00 || opcode == 0x06 || is_only(opcode); }
static int ends_message(uint8_t opcode) { return !(opcode <= 0x01 || opcode == 0x06 || opcode == 0x07); }

/* workloads/wire/packet.py: continues */
static int continues(uint8_t opcode, const uint8_t *frame, int32_t size)
{
    return (opcode == 0x0A || opcode == 0x0B) && (int64_t)get32(frame + RETH_LENGTH) > size;
}

static int bypass(struct netreduce_switch *sw, const uint8_t *frame, int32_t length, int32_t port)
{
    switch (forward_static(sw->macs, sw->queue, frame, length, port)) {
    case FORWARDED:
        sw->counters[BYPASSED]++;
        sw->counters[FORWARDED_COUNT]++;
        return WHY_DONE;
    case FORWARD_NO_ROOM:
        sw->room_frames = 1;
        sw->room_bytes = length;
        return WHY_ROOM;
    default:
        return WHY_PYTHON;
    }
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
    int64_t message = get32(header + INA_MESSAGE), announced = packets_of(ring, message), newest = ring->newest[rank];
    int32_t packets = get16(header + INA_PACKETS);
    if (ring->spine || header[INA_MAGIC] != 0xA7 || header[INA_VERSION] != 1 || !(header[INA_FLAGS] & 1)
        || header[INA_OP_DTYPE] != (ring->op << 4 | ring->dtype) || get16(header + INA_RING) != ring->id
        || header[INA_RANK] != ring->ranks[rank] || header[INA_SIZE] != ring->group || packets < 1
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
    uint64_t va = get64(frame + EXT_AT), base = ring->receive_vas[rank], mtu = (uint64_t)ring->mtu;
    int64_t length = get32(frame + RETH_LENGTH), packets = (length + ring->mtu - 1) / ring->mtu;
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

static void keep_header(struct netreduce_ring *ring, int64_t at, const uint8_t *frame, int32_t head)
{
    memcpy(ring->header + at * ring->header_row, frame, (size_t)head);
    ring->header_length[at] = head;
}

/* slot_actions.py: adopt and pass_down, and refresh for a value that waits for its turn. */
static int take_value(struct netreduce_switch *sw, struct netreduce_ring *ring, const struct place *place, uint32_t psn,
                      const uint8_t *frame, int32_t head, int32_t size, int starts)
{
    int64_t slot = slot_of(ring, place->message, place->offset);
    uint64_t boundary = (uint64_t)1 << boundary_of(ring);
    int again = ring->done[slot], answered = (ring->released[slot] & boundary) != 0;
    if (ring->bitmap[slot] != ring->everyone)
        return WHY_PYTHON;
    if (!has_room(sw, ring, again ? 1 : (ring->cursor[WAITING] + 1) * ring->size))
        return WHY_ROOM;
    if (starts)
        note_message(ring, inbound_of(ring), place, psn);
    keep_header(ring, slot * ring->connections + inbound_of(ring), frame, head);
    sw->counters[DATA_IN]++;
    if (again && answered) {
        uint8_t *value = ring->value + slot * ring->row;
        send_result(sw, ring, boundary_of(ring), slot, ina_crc32(0, value, (size_t)size));
    } else if (again) {
        sw->counters[DUPLICATE]++;
        note(sw, LOG_DUPLICATE, ring - sw->rings, inbound_of(ring), place->message, place->offset);
    } else {
        memcpy(ring->value + slot * ring->row, frame + head, (size_t)size);
        ring->ce[slot] |= (frame[IP_TOS] & 3) == 3;
        finish_slot(sw, ring, place->message, place->offset);
    }
    return WHY_DONE;
}

/* One frame. WHY_DONE when it was handled, else nothing has changed. */
static int absorb(struct netreduce_switch *sw, const uint8_t *frame, int32_t length, int32_t port)
{
    struct roce_view view;
    switch (roce_parse(frame, (size_t)length, &view)) {
    case ROCE_NONE:
        return bypass(sw, frame, length, port);
    case ROCE_ASK:
        return WHY_PYTHON;
    case ROCE_PLAIN:
        break;
    }
    if (!is_rc_data(view.opcode))
        return bypass(sw, frame, length, port);
    int edge;
    int32_t rank = 0;
    struct netreduce_ring *ring = find_connection(sw, &view, port, &rank, &edge);
    if (!edge)
        return bypass(sw, frame, length, port);
    int extension = extension_bytes(view.opcode), starts = starts_message(view.opcode), ends = ends_message(view.opcode);
    int irn = ring && ring->receive_vas;
    if (!ring || extension < 0 || (irn && extension < RETH_BYTES) || (int32_t)view.end < EXT_AT + extension + ICRC_BYTES)
        return WHY_PYTHON;
    if (irn) {
        starts = !continues(view.opcode, frame, (int32_t)view.end - ICRC_BYTES - EXT_AT - extension - view.pad);
        ends = view.opcode == 0x0B;
    }
    int32_t head = EXT_AT + extension + (starts ? INA_HEADER_BYTES : 0), size = (int32_t)view.end - ICRC_BYTES - head;
    if (view.pad || size < 0 || size > ring->mtu || size % ELEMENT_BYTES)
        return WHY_PYTHON;

    struct place place;
    int64_t id = -1;
    if (starts) {
        if (!start(ring, rank, frame + head - INA_HEADER_BYTES, irn ? ends : is_only(view.opcode), view.psn, &place))
            return WHY_PYTHON;
        id = place.message;
    } else if (!match(ring, rank, view.psn, &place, &id) || place.offset == 0 || ends != (place.offset == place.packets - 1)) {
        return WHY_PYTHON;
    }
    if (irn && !is_named(ring, rank, frame, id, &place))
        return WHY_PYTHON;
    int64_t slot = slot_of(ring, place.message, place.offset), at = slot * ring->size + rank;
    int64_t header_at = slot * ring->connections + rank;
    uint64_t bit = (uint64_t)1 << rank, bitmap = ring->bitmap[slot];
    if (ring->tag[slot] != place.message || (bitmap && ring->length[slot] != size)
        || !roce_icrc_is_valid(frame, view.end))
        return WHY_PYTHON;
    /* A message that takes the place of an older one resets counts which the log's reader still wants. */
    int renews = starts && ring->message[place.message % ring->banks] != place.message;
    if (sw->log_used == sw->log_rows || (renews && sw->log_used))
        return WHY_LOG;

    if (ring->leaf && rank == inbound_of(ring))
        return take_value(sw, ring, &place, view.psn, frame, head, size, starts);
    if (ring->leaf && rank == boundary_of(ring) && bitmap == ring->everyone) {
        if (memcmp(ring->payload + at * ring->row, frame + head, (size_t)size))
            return WHY_PYTHON;
        if (!has_room(sw, ring, 1))
            return WHY_ROOM;
        if (starts)
            note_message(ring, rank, &place, view.psn);
        keep_header(ring, header_at, frame, head);
        sw->counters[DATA_IN]++;
        send_up(sw, ring, place.message, slot);
        return WHY_DONE;
    }
    if (bitmap & bit) {
        int answered = (ring->released[slot] & bit) != 0;
        if (answered && !has_room(sw, ring, 1))
            return WHY_ROOM;
        if (!answered && memcmp(ring->payload + at * ring->row, frame + head, (size_t)size))
            return WHY_PYTHON;
        if (starts)
            note_message(ring, rank, &place, view.psn);
        keep_header(ring, header_at, frame, head);
        sw->counters[DATA_IN]++;
        sw->counters[answered ? REPLAYED : DUPLICATE]++;
        note(sw, answered ? LOG_REPLAYED : LOG_DUPLICATE, ring - sw->rings, rank, place.message, place.offset);
        if (answered)
            send_result(sw, ring, rank, slot, ina_crc32(0, ring->value + slot * ring->row, (size_t)size));
        return WHY_DONE;
    }
    int completes = (bitmap | bit) == ring->everyone;
    if (completes && !has_room(sw, ring, (ring->cursor[WAITING] + 1) * ring->size))
        return WHY_ROOM;
    sw->counters[DATA_IN]++;
    if (starts)
        note_message(ring, rank, &place, view.psn);
    if (!bitmap) {
        ring->length[slot] = size;
        ring->cursor[OCCUPIED]++;
        if (ring->cursor[OCCUPIED] > ring->cursor[PEAK])
            ring->cursor[PEAK] = ring->cursor[OCCUPIED];
    }
    keep_header(ring, header_at, frame, head);
    memcpy(ring->payload + at * ring->row, frame + head, (size_t)size);
    ring->bitmap[slot] = bitmap | bit;
    ring->ce[slot] |= (frame[IP_TOS] & 3) == 3;
    if (completes && ring->leaf) {
        sum(sw, ring, place.message, slot, ring->partial);
        send_up(sw, ring, place.message, slot);
    } else if (completes) {
        sum(sw, ring, place.message, slot, ring->value);
        finish_slot(sw, ring, place.message, place.offset);
    }
    return WHY_DONE;
}

/* Rows row .. count-1 of a batch. Returns the row to go on with; sw->why says why it is not `count`. */
int32_t netreduce_absorb(
    struct netreduce_switch *sw, const uint8_t *frames, int64_t stride, const int32_t *lengths, const int32_t *ports,
    int32_t row, int32_t count)
{
    sw->why = WHY_DONE;
    for (; row < count; row++) {
        sw->why = absorb(sw, frames + row * stride, lengths[row], ports[row]);
        if (sw->why != WHY_DONE)
            break;
    }
    return row;
}
