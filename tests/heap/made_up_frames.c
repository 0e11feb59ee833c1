/* Code that a program has made at run time, and described to the unwinder only so that exceptions find its function for them, as
 * LuaJIT does: where the frames are said to be is wrong. Who follows that is aborted by libgcc. Allocations that are sampled are made
 * below such a frame all the same. */
#include "../lifecycle/lifecycle.h"

#include <sys/mman.h>

enum { ROUNDS = 100, CODE_BYTES = 11, NO_REGISTER = 30 };

void __register_frame(void *frames);

/* As in .eh_frame: a common entry, the frames of `code`, and the end. */
static struct {
    uint32_t common_bytes, common;
    uint8_t version;
    char augmentation[4];
    uint8_t code_unit, data_unit, returns_to, more_bytes, handler_kind;
    uintptr_t handler;
    uint8_t address_kind, program[5];
    uint32_t frame_bytes, to_common;
    uintptr_t code, bytes;
    uint8_t no_more, nothing[7];
    uint32_t end;
} __attribute__((packed)) frames = {
    .common_bytes = 4 + 1 + 4 + 5 + 8 + 6,
    .version = 1,
    .augmentation = "zPR",
    .code_unit = 1,
    .data_unit = 0x78,
    .returns_to = 16,
    .more_bytes = 1 + 8 + 1,
    .program = {0x0c, NO_REGISTER, 8, 0x90,
                1}, /* the frame is at no register + 8, the return address at its end */
    .frame_bytes = 4 + 2 * 8 + 8,
    .to_common = offsetof(__typeof__(frames), to_common),
    .bytes = CODE_BYTES,
};

/* int f(int (*called)(void)): room on the stack, and the call. */
static const unsigned char instructions[CODE_BYTES] = {0x48, 0x83, 0xec, 0x28, 0xff, 0xd7,
                                                       0x48, 0x83, 0xc4, 0x28, 0xc3};

static int allocate(void) {
    int given = 0;

    for (size_t i = 0; i < ROUNDS; i++) {
        void *block = malloc(i * i * 100);
        given += block != NULL;
        free(block);
    }
    return given;
}

int main(void) {
#ifdef __x86_64__
    int (*made)(int (*)(void));
    void *code = mmap(NULL, sizeof instructions, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    CHECK(code != MAP_FAILED);
    memcpy(code, instructions, sizeof instructions);
    if (mprotect(code, sizeof instructions, PROT_READ | PROT_EXEC) != 0)
        skip("no code may be made here");
    frames.code = (uintptr_t)code;
    frames.handler = (uintptr_t)&main;
    __register_frame(&frames);
    memcpy(&made, &code, sizeof made);
    CHECK(made(allocate) == ROUNDS);
    return 0;
#else
    skip("the code is for x86-64");
#endif
}
