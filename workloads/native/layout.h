/* Where the fields of a struct lie, told to those who mirror it: see layout.py. A table ends with the size of what is mirrored. */
#ifndef INA_LAYOUT_H
#define INA_LAYOUT_H

#include <stddef.h>
#include <stdint.h>

struct ina_field {
    const char *name; /* NULL: the end */
    uint64_t at;
};

#define INA_FIELD(type, name) {#name, offsetof(struct type, name)}
#define INA_END(size) {NULL, (size)}

#endif
