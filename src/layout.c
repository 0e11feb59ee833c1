/* layout: see layout.h. Addresses apart, because only they need the loader, which writes to every page that has some; the rest stays clean. */
#include "layout.h"

#include "boxes.h"
#include "calls.h"
#include "heap.h"
#include "large.h"
#include "sample.h"

#define ADDRESS(object) &(object),
#define ROOT(object) FIELD(#object, 0, sizeof(object))
#define FIELD(name, offset, bytes) {name, (uint32_t)(offset), (uint32_t)(bytes)},
#define FIELD_BYTES(type, field) sizeof(((struct type *)0)->field)

static const void *const layout_addresses[] = {
#define LAYOUT_TABLE(object) ADDRESS(object)
#define LAYOUT_ROOT(object) LAYOUT_SHIPPED(ADDRESS(object))
#include "layout.def"
};

RARE_CONSTANT static const struct layout_field layout_roots[] = {
#define LAYOUT_TABLE(object) ROOT(object)
#define LAYOUT_ROOT(object) LAYOUT_SHIPPED(ROOT(object))
#include "layout.def"
};

RARE_CONSTANT static const struct layout_field layout_fields[] = {
#define LAYOUT_FIELD(type, field) \
    FIELD(#type "." #field, offsetof(struct type, field), FIELD_BYTES(type, field))
#define LAYOUT_SIZE(type) FIELD(#type, sizeof(struct type), 0)
#define LAYOUT_VALUE(name, value) LAYOUT_SHIPPED(FIELD(#name, value, 0))
#include "layout.def"
};

EXPORT const struct layout hakmem_layout = {
    .magic = "hakmem layout",
    .version = LAYOUT_VERSION,
    .root_count = ARRAY_LENGTH(layout_roots),
    .field_count = ARRAY_LENGTH(layout_fields),
    .variant = HAKMEM_VARIANT_NAME,
    .release = HAKMEM_VERSION,
    .addresses = layout_addresses,
    .roots = layout_roots,
    .fields = layout_fields,
};
