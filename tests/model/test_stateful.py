"""Hypothesis drives the prefixed API against a model written in Python.

    test_stateful.py                   runs itself under pytest, or says SKIP when pytest or Hypothesis is missing
    STATEFUL_EXAMPLES=5000 test_stateful.py
    STATEFUL_SEED=17 test_stateful.py  random examples from this seed instead of the fixed ones

Three threads carry out the operations, one at a time: which thread does what is part of the example, so that remote
frees, blocks that outlive their thread, and threads that take over an idle heap are found and shrunk like anything
else, and repeat exactly. The model knows each live block's address, size, usable size and content; overlap with any
other live block, lost content, wrong alignment, wrong errno and a moved usable size all fail at once, and Hypothesis
prints the smallest sequence of calls that shows it.

The library comes from TESTED_LIB and is loaded beside the interpreter's own malloc, so that a broken allocator breaks
the test and not Python.
"""

import bisect
import ctypes
import dataclasses
import errno
import importlib.util
import os
import queue
import sys
import threading

EXAMPLES = int(os.environ.get("STATEFUL_EXAMPLES", "40"))
STEPS = int(os.environ.get("STATEFUL_STEPS", "50"))
SEED = os.environ.get("STATEFUL_SEED")
THREADS = 3
SIZE_MAX = ctypes.c_size_t(-1).value

if __name__ == "__main__":
    missing = [name for name in ("pytest", "hypothesis") if importlib.util.find_spec(name) is None]
    if missing:
        print(f"SKIP: no Python package {' nor '.join(missing)} (see tests/requirements.txt)")
        sys.exit(77)
    os.execv(sys.executable, [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", __file__])

from hypothesis import HealthCheck, seed, settings  # noqa: E402
from hypothesis import strategies as st  # noqa: E402
from hypothesis.stateful import RuleBasedStateMachine, precondition, rule  # noqa: E402


def load_library():
    library = ctypes.CDLL(os.environ["TESTED_LIB"], use_errno=True)
    size, pointer = ctypes.c_size_t, ctypes.c_void_p
    for name, result, arguments in (
        ("malloc", pointer, (size,)),
        ("calloc", pointer, (size, size)),
        ("realloc", pointer, (pointer, size)),
        ("reallocarray", pointer, (pointer, size, size)),
        ("aligned_alloc", pointer, (size, size)),
        ("posix_memalign", ctypes.c_int, (ctypes.POINTER(pointer), size, size)),
        ("free", None, (pointer,)),
        ("free_sized", None, (pointer, size)),
        ("free_aligned_sized", None, (pointer, size, size)),
        ("usable_size", size, (pointer,)),
        ("purge", size, ()),
    ):
        function = getattr(library, "hakmem_" + name)
        function.restype, function.argtypes = result, arguments
    return library


class Worker:
    """A thread that carries out one call at a time for the test's thread."""

    def __init__(self):
        self.requests = queue.SimpleQueue()
        self.results = queue.SimpleQueue()
        self.thread = threading.Thread(target=self.serve, daemon=True)
        self.thread.start()

    def serve(self):
        while (call := self.requests.get()) is not None:
            try:
                self.results.put((call(), None))
            except BaseException as failure:  # handed to the test's thread, which raises it
                self.results.put((None, failure))

    def run(self, call):
        self.requests.put(call)
        result, failure = self.results.get()
        if failure:
            raise failure
        return result

    def end(self):
        self.requests.put(None)
        self.thread.join()


@dataclasses.dataclass
class Block:
    at: int
    size: int
    alignment: int  # 0: not from an aligned call
    usable: int
    content: bytes


def pattern(number, size):
    """Content that differs from block to block and from offset to offset."""
    word = b"".join(((number * 2654435761 + i * 40503) & 0xFFFFFFFF).to_bytes(4, "little") for i in range(61))
    return (word * (size // len(word) + 1))[:size]


THREAD = st.integers(0, THREADS - 1)
PICK = st.integers(0, 1 << 16)
SIZE = st.one_of(
    st.integers(0, 1100),
    st.integers(0, 40_000),
    st.sampled_from([32 * 1024, 32 * 1024 + 1, 64 * 1024, 300_000, 1 << 20, (1 << 20) + 1, 3 << 20]),
)
ALIGNMENT = st.integers(0, 21).map(lambda bits: 1 << bits)
SOME_LIVE = precondition(lambda machine: machine.blocks)


class Allocator(RuleBasedStateMachine):
    library = None

    def __init__(self):
        super().__init__()
        if Allocator.library is None:
            Allocator.library = load_library()
        self.workers = [Worker() for _ in range(THREADS)]
        self.blocks = []
        self.ranges = []  # sorted (start, end) of the live blocks
        self.number = 0

    def call(self, thread, name, *arguments):
        """(result, errno) of one call; errno is set to 0 before."""

        def carry_out():
            ctypes.set_errno(0)
            result = getattr(self.library, "hakmem_" + name)(*arguments)
            return result, ctypes.get_errno()

        return self.workers[thread].run(carry_out)

    def enter(self, at, size, alignment):
        usable, _ = self.call(0, "usable_size", at)
        assert at % max(alignment, 16) == 0, f"{at:#x} is not aligned to {alignment}"
        assert usable >= size, f"usable {usable} of {size}"
        start, end = at, at + max(usable, 1)
        place = bisect.bisect(self.ranges, (start, end))
        assert place == 0 or self.ranges[place - 1][1] <= start, "overlaps the live block before it"
        assert place == len(self.ranges) or end <= self.ranges[place][0], "overlaps the live block behind it"
        self.ranges.insert(place, (start, end))
        self.number += 1
        block = Block(at, size, alignment, usable, pattern(self.number, usable))
        ctypes.memmove(at, block.content, usable)
        self.blocks.append(block)

    def granted(self, result, size, alignment=0):
        """Enters what a call gave; a refusal is allowed only for want of memory."""
        at, error = result
        if at:
            self.enter(at, size, alignment)
        else:
            assert error == errno.ENOMEM and max(size, alignment) > 64 * 1024, f"refused with errno {error}"

    def leave(self, pick):
        """A live block, checked, which from here on is no longer live for the model."""
        block = self.blocks.pop(pick % len(self.blocks))
        self.check(block)
        self.ranges.remove((block.at, block.at + max(block.usable, 1)))
        return block

    def check(self, block):
        assert ctypes.string_at(block.at, block.usable) == block.content, "the content has changed"
        assert self.call(0, "usable_size", block.at)[0] == block.usable, "the usable size has changed"

    def give_back(self, thread, block, sized):
        if not sized:
            arguments = ("free", block.at)
        elif block.alignment:
            arguments = ("free_aligned_sized", block.at, block.alignment, block.size)
        else:
            arguments = ("free_sized", block.at, block.size)
        assert self.call(thread, *arguments)[1] == 0, "free sets errno"

    @rule(thread=THREAD, size=SIZE)
    def malloc(self, thread, size):
        self.granted(self.call(thread, "malloc", size), size)

    @rule(thread=THREAD, size=st.integers(0, 600), count=st.integers(1, 80))
    def malloc_many(self, thread, size, count):
        for _ in range(count):
            self.granted(self.call(thread, "malloc", size), size)

    @rule(thread=THREAD, count=st.integers(0, 12), size=SIZE)
    def calloc(self, thread, count, size):
        at, error = self.call(thread, "calloc", count, size)
        if at:
            assert not any(ctypes.string_at(at, count * size)), "calloc's block is not zero"
        self.granted((at, error), count * size)

    @rule(thread=THREAD, alignment=ALIGNMENT, size=SIZE)
    def aligned_alloc(self, thread, alignment, size):
        self.granted(self.call(thread, "aligned_alloc", alignment, size), size, alignment)

    @rule(thread=THREAD, alignment=ALIGNMENT, size=SIZE)
    def posix_memalign(self, thread, alignment, size):
        at = ctypes.c_void_p(4711)
        result, error = self.call(thread, "posix_memalign", ctypes.byref(at), alignment, size)
        assert error == 0, "posix_memalign sets errno"
        if result:
            assert at.value == 4711, "posix_memalign fails and changes the pointer"
        if alignment < ctypes.sizeof(ctypes.c_void_p):
            assert result == errno.EINVAL
        else:
            self.granted((None if result else at.value, result), size, alignment)

    @SOME_LIVE
    @rule(thread=THREAD, pick=PICK, size=SIZE, count=st.integers(0, 3))
    def realloc(self, thread, pick, size, count):
        """count 0: realloc; else reallocarray with that many members."""
        block = self.leave(pick)
        arguments = ("reallocarray", block.at, count, size) if count else ("realloc", block.at, size)
        size *= max(count, 1)
        at, error = self.call(thread, *arguments)
        if size == 0:
            assert (at, error) == (None, 0), "realloc to 0 frees and gives NULL"
            return
        if at:
            kept = min(block.size, size)
            assert ctypes.string_at(at, kept) == block.content[:kept], "realloc has lost content"
        else:
            self.give_back(thread, block, False)
        self.granted((at, error), size)

    @SOME_LIVE
    @rule(thread=THREAD, pick=PICK, sized=st.booleans())
    def free(self, thread, pick, sized):
        self.give_back(thread, self.leave(pick), sized)

    @SOME_LIVE
    @rule(thread=THREAD, apart=st.integers(1, 4), sized=st.booleans())
    def free_many(self, thread, apart, sized):
        """Frees every block, every second one ..."""
        for place in reversed(range(0, len(self.blocks), apart)):
            self.give_back(thread, self.leave(place), sized)

    @rule(thread=THREAD)
    def thread_ends(self, thread):
        """The thread ends with its blocks live; a new one takes its place."""
        self.workers[thread].end()
        self.workers[thread] = Worker()

    @rule(thread=THREAD)
    def purge(self, thread):
        self.call(thread, "purge")

    @rule(thread=THREAD, excess=st.integers(0, 1 << 40))
    def impossible(self, thread, excess):
        for arguments in (
            ("malloc", SIZE_MAX - excess),
            ("malloc", SIZE_MAX // 2 + 1 + excess),
            ("calloc", SIZE_MAX // 4 + 2, 4),
            ("realloc", None, SIZE_MAX - excess),
            ("aligned_alloc", 64, SIZE_MAX - excess),
            ("reallocarray", None, SIZE_MAX // 8, 16),
        ):
            assert self.call(thread, *arguments) == (None, errno.ENOMEM), arguments
        self.call(thread, "free", None)

    def teardown(self):
        while self.blocks:
            self.give_back(len(self.blocks) % THREADS, self.leave(0), False)
        for worker in self.workers:
            worker.end()


Allocator.TestCase.settings = settings(
    max_examples=EXAMPLES,
    stateful_step_count=STEPS,
    derandomize=SEED is None,
    deadline=None,
    database=None,
    print_blob=False,
    suppress_health_check=list(HealthCheck),
)
TestAllocator = Allocator.TestCase
if SEED is not None:
    TestAllocator = seed(int(SEED))(TestAllocator)

