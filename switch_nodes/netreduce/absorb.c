/* The NetReduce program on batches: the cases that make up nearly all traffic, on the arrays of switch_nodes/netreduce/
 * ring.py. Whatever is not handled here goes, frame by frame, through the Python reference (program.py), which decides
 * by the tables of tables.py; a differential test proves that both leave the same frames, events and arrays behind.
 *
 * Handled: data of a connection that the table knows, with a valid iCRC, of the message that its slot serves: a MIDDLE or
 * LAST whose message is in the table, a FIRST or ONLY that agrees with it. Stored, folded and released when it completes
 * the slot; absorbed when it is a duplicate, answered when it is a duplicate of an answered one. And what bypasses the
 * rings between static forwarding entries; answers of irn-held with what they are told here. */
#include "answers.h"
#include "place.h"
#include "slots.h"
#include "state.h"

enum { WHY_DONE, WHY_PYTHON, WHY_ROOM, WHY_LOG }; /* fast._Why */

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

/* program.py: bypass, of an answer of IRN. */
static int pass_answer(
    struct netreduce_switch *sw, const uint8_t *frame, int32_t length, int32_t port, const struct roce_view *view)
{
    uint8_t mapped[ANSWER_ROOM];
    int32_t out = NO_PORT, size = map_answer(sw, frame, length, view, mapped, &out);
    if (!size || out == NO_PORT)
        return size ? bypass(sw, mapped, size, port) : bypass(sw, frame, length, port);
    if (!queue_has_room(sw->queue, 1, size)) {
        sw->room_frames = 1;
        sw->room_bytes = size;
        return WHY_ROOM;
    }
    memcpy(queue_tail(sw->queue), mapped, (size_t)size);
    queue_push(sw->queue, out, size);
    sw->counters[BYPASSED]++;
    return WHY_DONE;
}

/* A data packet of a ring, and where it belongs. */
struct contribution {
    struct place place;
    const uint8_t *frame;
    uint32_t psn;
    int32_t rank;
    int32_t port;
    int32_t head; /* bytes up to its elements */
    int32_t size; /* of its elements */
    int starts;
};

/* What is noted of every packet that is taken: program.py: _note_message; ring.py: note_came; slot_actions.py: _keep_header. */
static void take(struct netreduce_switch *sw, struct netreduce_ring *ring, const struct contribution *c)
{
    int64_t at = slot_of(ring, c->place.message, c->place.offset) * ring->connections + c->rank;
    sw->counters[DATA_IN]++;
    if (ring->came)
        ring->came[came_at(ring, c->rank, c->port)] = c->psn;
    if (c->starts)
        note_message(ring, c->rank, &c->place, c->psn);
    memcpy(ring->header + at * ring->header_row, c->frame, (size_t)c->head);
    ring->header_length[at] = c->head;
}

/* slot_actions.py: adopt and pass_down, and refresh for a value that waits for its turn. */
static int take_value(struct netreduce_switch *sw, struct netreduce_ring *ring, const struct contribution *c)
{
    const struct place *place = &c->place;
    int64_t slot = slot_of(ring, place->message, place->offset);
    uint64_t boundary = (uint64_t)1 << boundary_of(ring);
    int again = ring->done[slot], answered = (ring->released[slot] & boundary) != 0;
    if (ring->bitmap[slot] != ring->everyone)
        return WHY_PYTHON;
    if (!has_room(sw, ring, again ? 1 : (ring->cursor[WAITING] + 1) * ring->size))
        return WHY_ROOM;
    take(sw, ring, c);
    if (again && answered) {
        uint8_t *value = ring->value + slot * ring->row;
        send_result(sw, ring, boundary_of(ring), slot, ina_crc32(0, value, (size_t)c->size));
    } else if (again) {
        sw->counters[DUPLICATE]++;
        note(sw, LOG_DUPLICATE, ring - sw->rings, inbound_of(ring), place->message, place->offset);
    } else {
        memcpy(ring->value + slot * ring->row, c->frame + c->head, (size_t)c->size);
        ring->ce[slot] |= (c->frame[IP_TOS] & 3) == 3;
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
    if (view.opcode == OPCODE_IRN_ANSWER)
        return pass_answer(sw, frame, length, port, &view);
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
        ends = view.opcode == OPCODE_WRITE_ONLY_IMM;
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
    uint64_t bit = (uint64_t)1 << rank, bitmap = ring->bitmap[slot];
    if (ring->tag[slot] != place.message || (bitmap && ring->length[slot] != size)
        || !roce_icrc_is_valid(frame, view.end))
        return WHY_PYTHON;
    /* A message that takes the place of an older one resets counts which the log's reader still wants. */
    int renews = starts && ring->message[place.message % ring->banks] != place.message;
    if (sw->log_used == sw->log_rows || (renews && sw->log_used))
        return WHY_LOG;

    struct contribution c = {place, frame, view.psn, rank, port, head, size, starts};
    if (ring->leaf && rank == inbound_of(ring))
        return take_value(sw, ring, &c);
    if (ring->leaf && rank == boundary_of(ring) && bitmap == ring->everyone) {
        if (memcmp(ring->payload + at * ring->row, frame + head, (size_t)size))
            return WHY_PYTHON;
        if (!has_room(sw, ring, 1))
            return WHY_ROOM;
        take(sw, ring, &c);
        send_up(sw, ring, place.message, slot);
        return WHY_DONE;
    }
    if (bitmap & bit) {
        int answered = (ring->released[slot] & bit) != 0;
        if (answered && !has_room(sw, ring, 1))
            return WHY_ROOM;
        if (!answered && memcmp(ring->payload + at * ring->row, frame + head, (size_t)size))
            return WHY_PYTHON;
        take(sw, ring, &c);
        sw->counters[answered ? REPLAYED : DUPLICATE]++;
        note(sw, answered ? LOG_REPLAYED : LOG_DUPLICATE, ring - sw->rings, rank, place.message, place.offset);
        if (answered)
            send_result(sw, ring, rank, slot, ina_crc32(0, ring->value + slot * ring->row, (size_t)size));
        return WHY_DONE;
    }
    int completes = (bitmap | bit) == ring->everyone;
    if (completes && !has_room(sw, ring, (ring->cursor[WAITING] + 1) * ring->size))
        return WHY_ROOM;
    take(sw, ring, &c);
    if (!bitmap) {
        ring->length[slot] = size;
        ring->cursor[OCCUPIED]++;
        if (ring->cursor[OCCUPIED] > ring->cursor[PEAK])
            ring->cursor[PEAK] = ring->cursor[OCCUPIED];
    }
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
