// bignum: what do many short-lived blocks of slowly growing size cost, as big-integer arithmetic makes them?
//
// After cfrac (Dave Barrett's continued-fraction factoring, in Zorn's allocator suite): the convergents p/q
// of a square root, with numbers that are immutable: every sum and product is a new block, and its operands
// are freed as soon as nobody needs them. WS is the number of convergents before it starts again; an
// operation is one number.
#include "suite.h"

#include <stdlib.h>
#include <string.h>

struct number {
    size_t limbs;
    uint32_t limb[]; // least significant first
};

static struct number *number_new(size_t limbs, uint64_t *count) {
    struct number *number = malloc(sizeof *number + limbs * sizeof(uint32_t));
    if (!number)
        suite_fail("the allocator returned NULL");
    number->limbs = limbs;
    memset(number->limb, 0, limbs * sizeof(uint32_t));
    ++*count;
    return number;
}

static struct number *number_trim(struct number *number) {
    while (number->limbs > 1 && number->limb[number->limbs - 1] == 0)
        number->limbs--;
    return number;
}

static struct number *number_of(uint32_t value, uint64_t *count) {
    struct number *number = number_new(1, count);
    number->limb[0] = value;
    return number;
}

static struct number *number_product(const struct number *a, const struct number *b, uint64_t *count) {
    struct number *product = number_new(a->limbs + b->limbs, count);
    for (size_t i = 0; i < a->limbs; i++) {
        uint64_t carry = 0;
        for (size_t k = 0; k < b->limbs; k++) {
            carry += (uint64_t)a->limb[i] * b->limb[k] + product->limb[i + k];
            product->limb[i + k] = (uint32_t)carry;
            carry >>= 32;
        }
        product->limb[i + b->limbs] = (uint32_t)carry;
    }
    return number_trim(product);
}

static struct number *number_sum(const struct number *a, const struct number *b, uint64_t *count) {
    size_t limbs = (a->limbs > b->limbs ? a->limbs : b->limbs) + 1;
    struct number *sum = number_new(limbs, count);
    uint64_t carry = 0;
    for (size_t i = 0; i < limbs; i++) {
        carry += (i < a->limbs ? a->limb[i] : 0ull) + (i < b->limbs ? b->limb[i] : 0ull);
        sum->limb[i] = (uint32_t)carry;
        carry >>= 32;
    }
    return number_trim(sum);
}

// factor * current + *previous, as a new number; current becomes *previous.
static struct number *convergent_next(struct number *current, struct number **previous, uint32_t factor,
                                      uint64_t *count) {
    struct number *a = number_of(factor, count);
    struct number *product = number_product(a, current, count);
    struct number *next = number_sum(product, *previous, count);
    free(a);
    free(product);
    free(*previous);
    *previous = current;
    return next;
}

static uint64_t run(struct suite_thread *thread) {
    uint64_t count = 0;
    while (count < thread->share) {
        struct number *p = number_of(1, &count), *p_before = number_of(0, &count);
        struct number *q = number_of(0, &count), *q_before = number_of(1, &count);
        uint32_t factor = (uint32_t)(thread->random % 1000) + 2;
        for (size_t i = 0; i < thread->settings->working_set; i++) {
            factor = factor * 1103515245u + 12345u;
            p = convergent_next(p, &p_before, (factor >> 16) % 100 + 1, &count);
            q = convergent_next(q, &q_before, (factor >> 16) % 100 + 1, &count);
        }
        // p * q_before and q * p_before differ by exactly one: neighbouring convergents.
        struct number *left = number_product(p, q_before, &count),
                      *right = number_product(q, p_before, &count);
        if ((left->limb[0] ^ right->limb[0]) % 2 != 1)
            suite_fail("the convergents are wrong");
        struct number *all[] = {p, p_before, q, q_before, left, right};
        for (size_t i = 0; i < sizeof all / sizeof *all; i++)
            free(all[i]);
    }
    return count;
}

const struct suite suite = {
    .defaults = {.iterations = 6000000, .working_set = 100, .seed = 1, .threads = 1},
    .most = 1u << 16,
    .run = run,
};
