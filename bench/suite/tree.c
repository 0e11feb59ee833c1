// tree: what does a tree cost that is built node by node, walked, and torn down?
//
// After Hans Boehm's GCBench and the binary-trees of the Computer Language Benchmarks Game: complete binary
// trees of depth WS, one after the other, while one of them lives through the whole run. An operation is one
// node.
#include "suite.h"

#include "../blocks.h"

struct node {
    struct node *left, *right;
    uint64_t weight;
};

static struct node *tree_build(size_t depth) {
    struct node *node = malloc(sizeof *node);
    if (!node)
        suite_fail("the allocator returned NULL");
    *node = (struct node){.weight = depth};
    if (depth > 0) {
        node->left = tree_build(depth - 1);
        node->right = tree_build(depth - 1);
    }
    return node;
}

static uint64_t tree_weigh(const struct node *node) {
    return node ? node->weight + tree_weigh(node->left) + tree_weigh(node->right) : 0;
}

static void tree_free(struct node *node) {
    if (!node)
        return;
    tree_free(node->left);
    tree_free(node->right);
    free(node);
}

static uint64_t run(struct suite_thread *thread) {
    size_t depth = thread->settings->working_set;
    uint64_t nodes = (2ull << depth) - 1, rounds = thread->share / nodes + 1;
    struct node *living = tree_build(depth);
    uint64_t weight = tree_weigh(living);
    for (uint64_t i = 0; i < rounds; i++) {
        struct node *tree = tree_build(depth);
        if (tree_weigh(tree) != weight)
            suite_fail("a tree has lost nodes");
        tree_free(tree);
    }
    tree_free(living);
    return (rounds + 1) * nodes;
}

const struct suite suite = {
    .defaults = {.iterations = 4000000, .working_set = 16, .seed = 1, .threads = 1},
    .most = 28,
    .run = run,
};
