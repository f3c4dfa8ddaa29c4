/* Python's frames on wires. */
#include "wire.h"

/* wire.py: _begin, of a frame of Python's. -1 when it cannot be kept. */
int sim_wire_begin(struct sim_core *core, struct sim_wire *wire, const uint8_t *octets, int64_t length)
{
    int32_t frame = sim_frame_of(core, octets, length);
    if (frame == NO_FRAME)
        return -1;
    sim_begin(core, wire, frame);
    return 0;
}

/* wire.py: send, of a frame of Python's. -1 when it cannot be kept, else enum sent. */
int sim_wire_send(struct sim_core *core, struct sim_wire *wire, const uint8_t *octets, int64_t length)
{
    if (length > wire->longest) {
        wire->drops++;
        return MISFIT;
    }
    int32_t frame = sim_frame_of(core, octets, length);
    if (frame == NO_FRAME)
        return -1;
    enum sent outcome = sim_admit(core, wire, frame);
    if (outcome == SENT)
        sim_put(core, wire, frame);
    else
        sim_frame_free(core, frame);
    return (int)outcome;
}
