/* The NetReduce program on batches: the cases that make up nearly all traffic, on the arrays of switch_nodes/netreduce/
 * ring.py. Whatever is not handled here goes, frame by frame, through the Python reference (program.py), which decides
 * by the tables of tables.py; a differential test proves that both leave the same frames, events and arrays behind.
 *
 * Handled: data of a connection that the table knows, with a valid iCRC, of the message that its slot serves: a MIDDLE or
 * LAST whose message is in the table, a FIRST or ONLY that agrees with it. Stored, folded and released when it completes
 * the slot; absorbed when it is a duplicate, answered when it is a duplicate of an answered one. And what bypasses the
 * rings between static forwarding entries. */
#include "fold.h"
#include "place.h"
#include "release.h"
#include "state.h"

enum { WHY_DONE, WHY_PYTHON, WHY_ROOM, WHY_LOG }; /* fast._Why */

/* slot_actions.py: reclaim and clear */
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
