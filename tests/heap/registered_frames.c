/* Code that a program has made at run time, and registered with the unwinder: that sorts its frames at the next exception or backtrace,
 * and allocates for it with its lock held. Where each allocation is sampled none may be unwound from in there. */
#include "../lifecycle/lifecycle.h"

#include <execinfo.h>

enum { CODE_BYTES = 64 };

/* As in .eh_frame: a common entry, the frames of `code`, and the end. */
static struct {
    uint32_t common_bytes, common;
    uint8_t version, augmentation, code_unit, data_unit, returns_to, program[7];
    uint32_t frame_bytes, to_common;
    uintptr_t code, bytes, nothing;
    uint32_t end;
} __attribute__((packed)) frames = {
    .common_bytes = 4 + 5 + 7,
    .version = 1,
    .code_unit = 1,
    .data_unit = 0x78,
    .returns_to = 16,
    .program = {0x0c, 7, 8, 0x90, 1}, /* the frame is at rsp + 8, the return address at its end */
    .frame_bytes = 4 + 3 * sizeof(uintptr_t),
    .to_common = offsetof(__typeof__(frames), to_common),
    .bytes = CODE_BYTES,
};

static unsigned char code[CODE_BYTES];

int main(void) {
    void *callers[8];
    free(malloc(100));
    void (*take)(const void *) = dlsym(RTLD_DEFAULT, "__register_frame");
    void *unwinder = dlopen("libgcc_s.so.1", RTLD_NOW);
    if (!take && unwinder)
        take = dlsym(unwinder, "__register_frame");
    if (!take)
        skip("there is no __register_frame");
    frames.code = (uintptr_t)code;
    CHECK(backtrace(callers, 8) > 0);
    take(&frames);
    alarm(60);
    CHECK(backtrace(callers, 8) > 0); /* with nothing allocated in between */
    alarm(0);
    free(malloc(100));
    return 0;
}
