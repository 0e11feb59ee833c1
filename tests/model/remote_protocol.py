"""Explores every interleaving of the protocol by which a block goes home from a thread that does not own it.

    remote_protocol.py [--verbose] [SCENARIO...]

The protocol is written below (class Protocol) as functions that yield one atomic operation at a time. For each scenario,
a few small programs over that protocol, the explorer visits every reachable state, and checks in each of them:

    R1  no bit is lost: at quiescence, after every heap has drained its inbox, every freed block was collected
    R2  no bit is collected twice
    R3  only the owner of a slab collects its bits
    R4  a slab is linked into at most one inbox, once, and its link is written only while it is in none
    R5  a slab is adopted by one heap only
    R6  no deadlock: some program can go on until all have ended
    R7  no delivery is empty: a slab in an inbox has a summary, and each word that it names has bits
    R8  once all blocks of a slab are home it may be deleted: nobody touches its record any more
    R9  an outbox belongs to one thread at a time, and each block in it is sent once
    R10 a slab that was lent to a visitor is back in the lists of a heap at quiescence, unless it was deleted

Then the proof that the explorer would notice: each mutation takes one thing out of the protocol (an exchange becomes a
load and a store, the forward step is dropped, ...) and must be found to break a property in some scenario. The exit
status is 0 only when the protocol holds everywhere and every mutation is found.

How it works: memory is a tuple of integers, a program is a generator that is replayed from the results of the operations
it has made since its last call boundary, so that a state is (memory, position and results of each program) and can be
remembered. Nothing is random, and nothing depends on time.
"""

import argparse
import sys

NONE = -1
LENT = -2
IDLE_LOCK = ("idle_lock",)


class Broken(Exception):
    """A property does not hold; the text says which."""


# Operations. Each is a tuple: a name, a cell, and values. The machine executes them atomically.


def load(cell):
    return ("load", cell)


def store(cell, value):
    return ("store", cell, value)


def exchange(cell, value):
    return ("exchange", cell, value)


def fetch_or(cell, bits):
    return ("fetch_or", cell, bits)


def compare_exchange(cell, expected, value):
    return ("compare_exchange", cell, expected, value)


def take_lock(cell):
    return ("take_lock", cell)


def collect(slab, word, bits, heap):
    """Not shared memory: the books of the explorer. The bits have come home to `heap`."""
    return ("collect", slab, word, bits, heap)


def adopted(slab, idle, heap):
    """Books as well: `heap` is about to take the slab from `idle`."""
    return ("adopted", slab, idle, heap)


def settle(slab):
    """Books as well: if all blocks of the slab are home, it is deleted, and its record may serve another slab."""
    return ("settle", slab)


def freeing(slab, word, bit):
    """Books as well: from here on the block must come home."""
    return ("freeing", slab, word, bit)


def parcels_of(blocks):
    """The blocks of an outbox by word: [((slab, word), bits)], in the order of their first blocks."""
    parcels = {}
    for slab, word, bit in blocks:
        parcels[slab, word] = parcels.get((slab, word), 0) | bit
    return parcels.items()


class Protocol:
    """The protocol as it stands in src/remote.c and src/heap.c. Slabs, heaps and words are small integers.

    Memory: word[slab, word] and summary[slab] (the remote bits), owner[slab] (a heap, whose inbox is meant),
    next[slab] (the link), inbox[heap] (a slab), waiting[heap] (a mark: it was empty and is no longer), taken[heap] (what came out of the inbox and was not collected yet),
    idle[heap] (a flag), filed[slab] (the heap whose lists hold it; LENT: a visitor has taken it out of them), lent[slab] (held,
    lent, or returned), outbox[heap] (blocks that its thread has freed and not sent). All slabs are of one class: an inbox has a list for each, and no two lists have anything in common.
    """

    name = "the protocol"
    held, lent, returned = range(3)
    back = 4  # in a summary, behind the two words: a slab is back from a visitor

    def __init__(self, lends=True):
        self.lends = lends  # where no slab is ever lent, nobody need ask: a seventh of the states

    def free(self, heap, slab, word, bit):
        """The thread of `heap` frees a block: its own goes to the slab, another's is held back in the outbox."""
        yield freeing(slab, word, bit)
        if (yield load(("owner", slab))) == heap:
            yield collect(slab, word, bit, heap)
            yield from self.settle(slab)
        else:
            outbox = yield load(("outbox", heap))
            yield store(("outbox", heap), outbox + ((slab, word, bit),))

    def send(self, heap):
        """Everything in the outbox goes to the slabs, all bits of a word at once."""
        outbox = yield load(("outbox", heap))
        yield store(("outbox", heap), ())
        for (slab, word), bits in parcels_of(outbox):
            yield from self.remote_free(slab, word, bits)

    def remote_free(self, slab, word, bits):
        """A thread that does not own the slab, or did not when it was asked, frees blocks of one of its words."""
        if (yield fetch_or(("word", slab, word), bits)):
            return
        if (yield fetch_or(("summary", slab), 1 << word)):
            return
        yield from self.deliver(slab)

    def deliver(self, slab):
        """Hands the slab to the inbox of its owner."""
        heap = yield load(("owner", slab))
        while True:
            head = yield load(("inbox", heap))
            yield store(("next", slab), head)
            if (yield compare_exchange(("inbox", heap), head, slab)):
                break
        if head == NONE:
            yield fetch_or(("waiting", heap), 1)

    def take_all(self, heap):
        """The whole inbox, as a list linked by next."""
        if (yield load(("inbox", heap))) == NONE:
            return NONE
        return (yield exchange(("inbox", heap), NONE))

    def take(self, heap):
        """One slab out of what was taken, or of the inbox."""
        slab = yield load(("taken", heap))
        if slab == NONE:
            slab = yield from self.take_all(heap)
        if slab != NONE:
            yield store(("taken", heap), (yield load(("next", slab))))
        return slab

    def collect_one(self, heap):
        """The owner collects one slab of its inbox; one that has moved on is sent after its new owner. False: none."""
        slab = yield from self.take(heap)
        if slab == NONE:
            return False
        if (yield load(("owner", slab))) == heap:
            yield from self.collect_slab(slab, heap)
        else:
            yield from self.deliver(slab)
        return True

    def drain(self, heap):
        """The owner collects its inbox, if something has come since it did so last."""
        while (yield load(("waiting", heap))):
            yield exchange(("waiting", heap), 0)
            while (yield from self.collect_one(heap)):
                pass

    def collect_slab(self, slab, heap):
        summary = yield exchange(("summary", slab), 0)
        for word in range(2):
            if summary >> word & 1:
                bits = yield exchange(("word", slab, word), 0)
                yield collect(slab, word, bits, heap)
        if self.lends and (yield load(("filed", slab))) == LENT and (yield load(("lent", slab))) != self.lent:
            yield store(("filed", slab), heap)
        yield from self.settle(slab)

    def settle(self, slab):
        """Deletes the slab if all of it is home, nobody has it, and it is not on its way."""
        if self.lends and (yield load(("filed", slab))) == LENT:
            return
        if not self.lends or ((yield load(("lent", slab))) == self.held and not (yield load(("summary", slab)))):
            yield settle(slab)

    def give_back(self, slab):
        """The visitor to whom the slab was lent gives it back."""
        yield store(("lent", slab), self.returned)
        if not (yield fetch_or(("summary", slab), self.back)):
            yield from self.deliver(slab)
        yield store(("lent", slab), self.held)

    def retire(self, heap):
        """The thread of `heap` ends."""
        yield take_lock(IDLE_LOCK)
        yield store(("idle", heap), 1)
        yield store(IDLE_LOCK, 0)

    def end(self, heap):
        """The same for a thread that has an outbox."""
        yield from self.send(heap)
        yield from self.drain(heap)
        yield from self.retire(heap)

    def revive(self, heap, calls):
        """A new thread takes the idle heap `heap`, if it finds it, and makes the calls as its owner."""
        yield take_lock(IDLE_LOCK)
        idle = yield exchange(("idle", heap), 0)
        yield store(IDLE_LOCK, 0)
        if idle:
            for name, *arguments in calls:
                yield from getattr(self, name)(*arguments)

    def adopt(self, slab, idle, heap):
        """Heap `heap` takes a slab of the heap `idle`, if that is idle and has it."""
        yield from self.adopt_after(self.drain, slab, idle, heap)

    def adopt_at_once(self, slab, idle, heap):
        """The same when the bound on what is collected was reached: some of the inbox is left for the next one."""
        yield from self.adopt_after(self.collect_one, slab, idle, heap)

    def adopt_after(self, collect, slab, idle, heap):
        yield take_lock(IDLE_LOCK)
        if (yield load(("idle", idle))):
            yield from collect(idle)
            if (yield load(("filed", slab))) == idle:
                yield from self.change_owner(slab, idle, heap)
        yield store(IDLE_LOCK, 0)

    def change_owner(self, slab, idle, heap):
        yield adopted(slab, idle, heap)
        yield store(("owner", slab), heap)
        yield store(("filed", slab), heap)


class SummaryLast(Protocol):
    name = "the summary is cleared after the words"

    def collect_slab(self, slab, heap):
        summary = yield load(("summary", slab))
        for word in range(2):
            if summary >> word & 1:
                bits = yield exchange(("word", slab, word), 0)
                yield collect(slab, word, bits, heap)
        yield store(("summary", slab), 0)
        yield from self.settle(slab)


class PlainWord(Protocol):
    name = "a word is read and cleared in two steps"

    def collect_slab(self, slab, heap):
        summary = yield exchange(("summary", slab), 0)
        for word in range(2):
            if summary >> word & 1:
                bits = yield load(("word", slab, word))
                yield store(("word", slab, word), 0)
                yield collect(slab, word, bits, heap)
        yield from self.settle(slab)


class PlainSummary(Protocol):
    name = "the summary is read and cleared in two steps"

    def collect_slab(self, slab, heap):
        summary = yield load(("summary", slab))
        yield store(("summary", slab), 0)
        for word in range(2):
            if summary >> word & 1:
                bits = yield exchange(("word", slab, word), 0)
                yield collect(slab, word, bits, heap)
        yield from self.settle(slab)


class AllWords(Protocol):
    name = "the owner looks at every word, whatever the summary says"

    def collect_slab(self, slab, heap):
        yield exchange(("summary", slab), 0)
        for word in range(2):
            bits = yield exchange(("word", slab, word), 0)
            yield collect(slab, word, bits, heap)
        yield from self.settle(slab)


class SummaryFirst(Protocol):
    name = "a freer sets the summary before the word"

    def remote_free(self, slab, word, bit):
        summary = yield fetch_or(("summary", slab), 1 << word)
        yield fetch_or(("word", slab, word), bit)
        if not summary:
            yield from self.deliver(slab)


class AlwaysDeliver(Protocol):
    name = "a freer delivers the slab whatever the summary was"

    def remote_free(self, slab, word, bit):
        if (yield fetch_or(("word", slab, word), bit)):
            return
        yield fetch_or(("summary", slab), 1 << word)
        yield from self.deliver(slab)


class FirstWordDelivers(Protocol):
    name = "only the first bit of word 0 delivers"

    def remote_free(self, slab, word, bit):
        if (yield fetch_or(("word", slab, word), bit)):
            return
        if (yield fetch_or(("summary", slab), 1 << word)) or word:
            return
        yield from self.deliver(slab)


class PlainPush(Protocol):
    name = "delivery stores the head instead of comparing it"

    def deliver(self, slab):
        heap = yield load(("owner", slab))
        head = yield load(("inbox", heap))
        yield store(("next", slab), head)
        yield store(("inbox", heap), slab)


class PlainTake(Protocol):
    name = "the inbox is read and cleared in two steps"

    def take_all(self, heap):
        head = yield load(("inbox", heap))
        yield store(("inbox", heap), NONE)
        return head


class MarksFirst(Protocol):
    name = "who finds the inbox empty marks it before the slab is in it"

    def deliver(self, slab):
        heap = yield load(("owner", slab))
        while True:
            head = yield load(("inbox", heap))
            if head == NONE:
                yield fetch_or(("waiting", heap), 1)
            yield store(("next", slab), head)
            if (yield compare_exchange(("inbox", heap), head, slab)):
                return


class MarkClearedLast(Protocol):
    name = "the mark of an inbox is cleared after it was collected"

    def drain(self, heap):
        if (yield load(("waiting", heap))):
            while (yield from self.collect_one(heap)):
                pass
            yield exchange(("waiting", heap), 0)


class TakesOne(Protocol):
    name = "who takes one slab forgets those behind it"

    def take(self, heap):
        slab = yield from self.take_all(heap)
        if slab != NONE:
            yield load(("next", slab))
        return slab


class TakesAgain(Protocol):
    name = "what comes into the inbox replaces what was taken before"

    def take(self, heap):
        slab = yield from self.take_all(heap)
        if slab == NONE:
            slab = yield load(("taken", heap))
        if slab != NONE:
            yield store(("taken", heap), (yield load(("next", slab))))
        return slab


class LateLink(Protocol):
    name = "the link is read after the slab was collected"

    def take(self, heap):
        slab = yield load(("taken", heap))
        if slab == NONE:
            slab = yield from self.take_all(heap)
        return slab

    def collect_one(self, heap):
        slab = yield from self.take(heap)
        if slab == NONE:
            return False
        if (yield load(("owner", slab))) == heap:
            yield from self.collect_slab(slab, heap)
            yield store(("taken", heap), (yield load(("next", slab))))
        else:
            yield store(("taken", heap), (yield load(("next", slab))))
            yield from self.deliver(slab)
        return True


class DropForeign(Protocol):
    name = "a slab that has moved on is dropped"

    def collect_one(self, heap):
        slab = yield from self.take(heap)
        if slab != NONE and (yield load(("owner", slab))) == heap:
            yield from self.collect_slab(slab, heap)
        return slab != NONE


class CollectForeign(Protocol):
    name = "a slab that has moved on is collected all the same"

    def collect_one(self, heap):
        slab = yield from self.take(heap)
        if slab != NONE:
            yield from self.collect_slab(slab, heap)
        return slab != NONE


class AdoptUnlocked(Protocol):
    name = "adoption without the idle lock"

    def adopt_after(self, collect, slab, idle, heap):
        if (yield load(("idle", idle))):
            yield from collect(idle)
            if (yield load(("filed", slab))) == idle:
                yield from self.change_owner(slab, idle, heap)


class AdoptLive(Protocol):
    name = "adoption from a heap that is not idle"

    def adopt_after(self, collect, slab, idle, heap):
        yield take_lock(IDLE_LOCK)
        yield from collect(idle)
        if (yield load(("filed", slab))) == idle:
            yield from self.change_owner(slab, idle, heap)
        yield store(IDLE_LOCK, 0)


class AdoptUnchecked(Protocol):
    name = "adoption of a slab that the drain before it may have deleted"

    def adopt_after(self, collect, slab, idle, heap):
        yield take_lock(IDLE_LOCK)
        if (yield load(("idle", idle))) and (yield load(("filed", slab))) == idle:
            yield from collect(idle)
            yield from self.change_owner(slab, idle, heap)
        yield store(IDLE_LOCK, 0)


class AdoptKeepsLock(Protocol):
    name = "adoption that finds nothing keeps the idle lock"

    def adopt_after(self, collect, slab, idle, heap):
        yield take_lock(IDLE_LOCK)
        if (yield load(("idle", idle))):
            yield from collect(idle)
            if (yield load(("filed", slab))) == idle:
                yield from self.change_owner(slab, idle, heap)
                yield store(IDLE_LOCK, 0)


class PlainSend(Protocol):
    name = "a sender reads a word and stores it with its bits in two steps"

    def remote_free(self, slab, word, bits):
        old = yield load(("word", slab, word))
        yield store(("word", slab, word), old | bits)
        if old:
            return
        if (yield fetch_or(("summary", slab), 1 << word)):
            return
        yield from self.deliver(slab)


class OwnBitsMark(Protocol):
    name = "a sender marks the word whenever its own bits were not in it"

    def remote_free(self, slab, word, bits):
        if (yield fetch_or(("word", slab, word), bits)) & bits:
            return
        if (yield fetch_or(("summary", slab), 1 << word)):
            return
        yield from self.deliver(slab)


class LowestBitOnly(Protocol):
    name = "a sender sets only the lowest bit of a parcel"

    def send(self, heap):
        outbox = yield load(("outbox", heap))
        yield store(("outbox", heap), ())
        for (slab, word), bits in parcels_of(outbox):
            yield from self.remote_free(slab, word, bits & -bits)


class FirstParcelDelivers(Protocol):
    name = "a sender marks the words of a slab together and delivers when its first word was empty"

    def send(self, heap):
        outbox = yield load(("outbox", heap))
        yield store(("outbox", heap), ())
        empty = {}
        for (slab, word), bits in parcels_of(outbox):
            old = yield fetch_or(("word", slab, word), bits)
            empty.setdefault(slab, old == 0)
        for slab, first in empty.items():
            words = sum({1 << word for at, word, _ in outbox if at == slab})
            if first and not (yield fetch_or(("summary", slab), words)):
                yield from self.deliver(slab)


class FullOutboxStays(Protocol):
    name = "an outbox is not emptied when it is sent"

    def send(self, heap):
        for (slab, word), bits in parcels_of((yield load(("outbox", heap)))):
            yield from self.remote_free(slab, word, bits)


class EmptiedLast(Protocol):
    name = "a thread that ends hands its heap on before it has sent the outbox"

    def end(self, heap):
        yield from self.drain(heap)
        yield from self.retire(heap)
        yield from self.send(heap)


class EndsUnsent(Protocol):
    name = "a thread that ends forgets its outbox"

    def end(self, heap):
        yield store(("outbox", heap), ())
        yield from self.drain(heap)
        yield from self.retire(heap)


class AdoptionKeepsThem(Protocol):
    name = "a heap that adopts a slab drops what it holds back of it"

    def change_owner(self, slab, idle, heap):
        yield from super().change_owner(slab, idle, heap)
        outbox = yield load(("outbox", heap))
        yield store(("outbox", heap), tuple(block for block in outbox if block[0] != slab))


class OwnTwice(Protocol):
    name = "what was held back of a slab that is now one's own goes to it at once, and is sent all the same"

    def send(self, heap):
        for slab, word, bit in (yield load(("outbox", heap))):
            if (yield load(("owner", slab))) == heap:
                yield collect(slab, word, bit, heap)
        yield from super().send(heap)


class SaidLate(Protocol):
    name = "a slab is delivered before it is said to be back"

    def give_back(self, slab):
        if not (yield fetch_or(("summary", slab), self.back)):
            yield from self.deliver(slab)
        yield store(("lent", slab), self.held)


class HeldAtOnce(Protocol):
    name = "a slab is said to be held before it is delivered"

    def give_back(self, slab):
        yield store(("lent", slab), self.held)
        if not (yield fetch_or(("summary", slab), self.back)):
            yield from self.deliver(slab)


class BackInAWord(Protocol):
    name = "a slab that is back marks a word"
    back = 1


class ReturnUndelivered(Protocol):
    name = "a slab that is back is not delivered"

    def give_back(self, slab):
        yield store(("lent", slab), self.held)


class DeletedOnItsWay(Protocol):
    name = "a slab is deleted that is on its way"

    def settle(self, slab):
        if (yield load(("filed", slab))) != LENT:
            yield settle(slab)


class DeletedWhileLent(Protocol):
    name = "a slab is deleted that is lent"

    def settle(self, slab):
        if not (yield load(("summary", slab))):
            yield settle(slab)


MUTATIONS = (
    SummaryLast,
    PlainWord,
    PlainSummary,
    AllWords,
    SummaryFirst,
    AlwaysDeliver,
    FirstWordDelivers,
    PlainPush,
    PlainTake,
    MarksFirst,
    MarkClearedLast,
    TakesOne,
    TakesAgain,
    LateLink,
    DropForeign,
    CollectForeign,
    AdoptUnlocked,
    AdoptLive,
    AdoptUnchecked,
    AdoptKeepsLock,
    PlainSend,
    OwnBitsMark,
    LowestBitOnly,
    FirstParcelDelivers,
    FullOutboxStays,
    EmptiedLast,
    EndsUnsent,
    AdoptionKeepsThem,
    OwnTwice,
    SaidLate,
    HeldAtOnce,
    BackInAWord,
    ReturnUndelivered,
    DeletedOnItsWay,
    DeletedWhileLent,
)


class Scenario:
    """Initial owners (one a slab), idle heaps, lent slabs, and programs: lists of calls of protocol functions."""

    def __init__(self, name, heaps, owners, programs, idle=(), lent=(), words=2):
        self.name = name
        self.heaps = heaps
        self.owners = owners
        self.programs = [tuple(program) for program in programs]
        self.idle = idle
        self.lent = lent
        self.words = words

    def calls(self, calls, names):
        """(name, arguments) of the calls with one of these names, also in threads that revive a heap."""
        for name, *arguments in calls:
            if name in names:
                yield name, arguments
            if name == "revive":
                yield from self.calls(arguments[1], names)

    def freed(self, *names):
        """The bits of the blocks that these calls free: {(slab, word): bits}."""
        bits = {}
        for program in self.programs:
            for _, arguments in self.calls(program, names):
                slab, word, bit = arguments[-3:]
                bits[slab, word] = bits.get((slab, word), 0) | bit
        return bits

    def memory(self):
        cells = {IDLE_LOCK: 0}
        for heap in range(self.heaps):
            cells["inbox", heap] = NONE
            cells["taken", heap] = NONE
            cells["waiting", heap] = 0
            cells["idle", heap] = int(heap in self.idle)
            cells["outbox", heap] = ()
        for slab, owner in enumerate(self.owners):
            cells["owner", slab] = owner
            cells["summary", slab] = 0
            cells["next", slab] = NONE
            cells["filed", slab] = LENT if slab in self.lent else owner
            cells["lent", slab] = Protocol.lent if slab in self.lent else Protocol.held
            cells["linked", slab] = 0
            cells["deleted", slab] = 0
            for word in range(self.words):
                cells["word", slab, word] = 0
                cells["home", slab, word] = 0
                cells["freed", slab, word] = self.freed("remote_free").get((slab, word), 0)
        return cells


# The large ones last: most mutations are found before.
SCENARIOS = (
    Scenario(
        "two freers of one word",
        heaps=1,
        owners=[0],
        programs=[[("remote_free", 0, 0, 1)], [("remote_free", 0, 0, 2)], [("drain", 0), ("drain", 0)]],
    ),
    Scenario(
        "two freers of two words",
        heaps=1,
        owners=[0],
        programs=[[("remote_free", 0, 0, 1)], [("remote_free", 0, 1, 1)], [("drain", 0), ("drain", 0)]],
    ),
    Scenario(
        "an owner that collects one of three slabs, another adopts one that waits",
        heaps=2,
        owners=[0, 0, 0],
        programs=[
            [("remote_free", 0, 0, 1), ("remote_free", 1, 0, 1), ("remote_free", 2, 0, 1), ("remote_free", 1, 0, 2)],
            [("collect_one", 0), ("retire", 0)],
            [("adopt_at_once", 1, 0, 1), ("collect_one", 1)],
        ],
    ),
    Scenario(
        "two heaps adopt from one whose inbox is collected bit by bit",
        heaps=3,
        owners=[0, 0],
        idle=[0],
        programs=[
            [("remote_free", 0, 0, 1), ("remote_free", 1, 0, 1), ("remote_free", 0, 0, 2)],
            [("adopt_at_once", 0, 0, 1), ("collect_one", 1)],
            [("adopt_at_once", 1, 0, 2), ("collect_one", 2)],
        ],
    ),
    Scenario(
        "adoption while a freer holds the old owner",
        heaps=2,
        owners=[0],
        idle=[0],
        programs=[
            [("remote_free", 0, 0, 1), ("remote_free", 0, 0, 4)],
            [("remote_free", 0, 1, 1)],
            [("adopt", 0, 0, 1), ("drain", 1)],
        ],
    ),
    Scenario(
        "two heaps want the same slab",
        heaps=3,
        owners=[0],
        idle=[0],
        programs=[
            [("remote_free", 0, 0, 1)],
            [("adopt", 0, 0, 1), ("drain", 1)],
            [("adopt", 0, 0, 2), ("drain", 2)],
        ],
    ),
    Scenario(
        "an owner ends, another heap adopts",
        heaps=2,
        owners=[0],
        programs=[
            [("remote_free", 0, 0, 1), ("remote_free", 0, 1, 1)],
            [("drain", 0), ("retire", 0)],
            [("adopt", 0, 0, 1), ("drain", 1)],
        ],
    ),
    Scenario(
        "adoption beside a thread that revives the heap",
        heaps=2,
        owners=[0, 0],
        idle=[0],
        programs=[
            [("remote_free", 0, 0, 1), ("remote_free", 1, 0, 1)],
            [("adopt", 0, 0, 1), ("drain", 1)],
            [("revive", 0, (("drain", 0),))],
        ],
    ),
    Scenario(
        "a slab that moves on twice",
        heaps=3,
        owners=[0],
        idle=[0],
        programs=[
            [("remote_free", 0, 0, 1), ("remote_free", 0, 0, 2)],
            [("adopt", 0, 0, 1), ("drain", 1), ("retire", 1)],
            [("adopt", 0, 1, 2), ("drain", 2)],
        ],
    ),
    Scenario(
        "a lent slab is given back while others free blocks of it",
        heaps=1,
        owners=[0],
        lent=[0],
        programs=[
            [("give_back", 0)],
            [("remote_free", 0, 0, 1), ("remote_free", 0, 1, 1)],
            [("drain", 0), ("free", 0, 0, 0, 2), ("drain", 0)],
        ],
    ),
    Scenario(
        "a lent slab is given back while another frees its last block",
        heaps=1,
        owners=[0],
        lent=[0],
        programs=[[("give_back", 0)], [("remote_free", 0, 0, 1)], [("drain", 0), ("drain", 0)]],
    ),
    Scenario(
        "the owner of a lent slab ends, another heap wants the slab",
        heaps=2,
        owners=[0],
        lent=[0],
        programs=[
            [("give_back", 0)],
            [("free", 0, 0, 0, 1), ("drain", 0), ("retire", 0)],
            [("adopt", 0, 0, 1), ("drain", 1)],
        ],
    ),
    Scenario(
        "several bits of two words at once",
        heaps=2,
        owners=[0],
        programs=[
            [("free", 1, 0, 0, 1), ("free", 1, 0, 1, 1), ("free", 1, 0, 0, 2), ("send", 1)],
            [("remote_free", 0, 0, 4 | 8), ("remote_free", 0, 1, 2)],
            [("drain", 0), ("drain", 0)],
        ],
    ),
    Scenario(
        "a slab is adopted while blocks of it are held back",
        heaps=3,
        owners=[0],
        idle=[0],
        programs=[
            [("free", 1, 0, 0, 1), ("free", 1, 0, 1, 1), ("send", 1)],
            [("remote_free", 0, 0, 2 | 4)],
            [("adopt", 0, 0, 2), ("drain", 2)],
        ],
    ),
    Scenario(
        "a heap adopts the slab whose blocks it holds back",
        heaps=2,
        owners=[0],
        idle=[0],
        programs=[
            [("free", 1, 0, 0, 1), ("adopt", 0, 0, 1), ("free", 1, 0, 0, 2), ("send", 1), ("drain", 1)],
            [("remote_free", 0, 0, 4), ("remote_free", 0, 1, 1)],
        ],
    ),
    Scenario(
        "an owner ends while blocks of its slab are held back",
        heaps=3,
        owners=[0],
        programs=[
            [("free", 1, 0, 0, 1), ("free", 1, 0, 0, 2), ("send", 1), ("free", 1, 0, 1, 1), ("end", 1)],
            [("drain", 0), ("end", 0)],
            [("adopt", 0, 0, 2), ("drain", 2)],
        ],
    ),
    Scenario(
        "a thread ends with blocks held back, another takes its heap",
        heaps=2,
        owners=[0],
        programs=[
            [("free", 1, 0, 0, 1), ("end", 1)],
            [("revive", 1, (("free", 1, 0, 0, 2), ("free", 1, 0, 1, 1), ("end", 1)))],
            [("drain", 0), ("drain", 0)],
        ],
    ),
    Scenario(
        "two heaps hold back blocks of each other",
        heaps=2,
        owners=[0, 1],
        programs=[
            [("free", 0, 1, 0, 1), ("free", 0, 0, 0, 1), ("end", 0)],
            [("free", 1, 0, 0, 2), ("free", 1, 1, 0, 2), ("end", 1)],
        ],
    ),
    Scenario(
        "three freers, the owner drains twice",
        heaps=1,
        owners=[0],
        programs=[
            [("remote_free", 0, 0, 1), ("remote_free", 0, 1, 1)],
            [("remote_free", 0, 0, 2)],
            [("remote_free", 0, 1, 2)],
            [("drain", 0), ("drain", 0)],
        ],
    ),
    Scenario(
        "two slabs in one inbox",
        heaps=1,
        owners=[0, 0],
        programs=[
            [("remote_free", 0, 0, 1), ("remote_free", 1, 0, 1)],
            [("remote_free", 1, 0, 2)],
            [("drain", 0), ("drain", 0)],
        ],
    ),
    Scenario(
        "one freer after another, two bits each",
        heaps=1,
        owners=[0],
        programs=[
            [("remote_free", 0, 0, 1), ("remote_free", 0, 0, 2)],
            [("remote_free", 0, 1, 1), ("remote_free", 0, 0, 4)],
            [("drain", 0), ("drain", 0)],
        ],
    ),
    Scenario(
        "two slabs, collected one at a time, and filling meanwhile",
        heaps=1,
        owners=[0, 0],
        programs=[
            [("remote_free", 0, 0, 1), ("remote_free", 1, 0, 1), ("remote_free", 0, 0, 2)],
            [("remote_free", 1, 0, 2), ("remote_free", 1, 1, 1)],
            [("collect_one", 0), ("collect_one", 0), ("collect_one", 0)],
        ],
    ),
    Scenario(
        "two outboxes, sent twice",
        heaps=3,
        owners=[0],
        programs=[
            [("free", 1, 0, 0, 1), ("free", 1, 0, 0, 2), ("send", 1), ("free", 1, 0, 0, 4), ("send", 1)],
            [("free", 2, 0, 0, 8), ("free", 2, 0, 1, 1), ("send", 2)],
            [("drain", 0), ("free", 0, 0, 1, 2), ("drain", 0)],
        ],
    ),
)

BOOKS = ("collect", "adopted", "settle", "freeing")
RECORD = ("word", "summary", "owner", "next", "lent")
LONGEST_CALL = 400
DONE = ("done",)


class Explorer:
    """Visits every state of one scenario under one protocol; raises Broken with the way there."""

    def __init__(self, protocol, scenario):
        self.protocol = protocol
        self.scenario = scenario
        self.cells = scenario.memory()
        self.place = {cell: i for i, cell in enumerate(self.cells)}
        self.freed = scenario.freed("remote_free", "free")
        self.known = {}

    def next_operation(self, call, results):
        """The operation that a call makes after its earlier ones gave `results`; DONE when it has ended."""
        key = (call, results)
        if key not in self.known:
            if len(results) > LONGEST_CALL:
                raise Broken("R6: a call does not end")
            generator = getattr(self.protocol, call[0])(*call[1:])
            try:
                operation = next(generator)
                for result in results:
                    operation = generator.send(result)
            except StopIteration:
                operation = DONE
            self.known[key] = operation
        return self.known[key]

    def advance(self, memory, program, position):
        """Steps over what needs no shared memory: ended calls, and the explorer's books."""
        call, results = position
        while call < len(program):
            operation = self.next_operation(program[call], results)
            if operation is DONE:
                call, results = call + 1, ()
            elif operation[0] in BOOKS:
                self.keep_books(memory, operation)
                results += (None,)
            else:
                return (call, results), operation
        return (call, ()), None

    def keep_books(self, memory, operation):
        getattr(self, "book_" + operation[0])(memory, *operation[1:])

    def book_adopted(self, memory, slab, idle, heap):
        if memory[self.place["filed", slab]] != idle:
            raise Broken(f"R5: heap {heap} adopts slab {slab}, which is no longer heap {idle}'s")

    def book_freeing(self, memory, slab, word, bit):
        memory[self.place["freed", slab, word]] |= bit

    def book_collect(self, memory, slab, word, bits, heap):
        owner = memory[self.place["owner", slab]]
        home = self.place["home", slab, word]
        if owner != heap:
            raise Broken(f"R3: heap {heap} collects from slab {slab} of heap {owner}")
        if not bits:
            raise Broken(f"R7: word {word} of slab {slab} is empty")
        if memory[home] & bits:
            raise Broken(f"R2: bits {memory[home] & bits:b} of slab {slab}, word {word} are collected twice")
        memory[home] |= bits

    def book_settle(self, memory, slab):
        homes = [(memory[self.place["home", at, word]], bits) for (at, word), bits in self.freed.items() if at == slab]
        if all(home == bits for home, bits in homes):
            memory[self.place["deleted", slab]] = 1
            memory[self.place["filed", slab]] = NONE

    def execute(self, memory, operation):
        """Carries out one atomic operation on the list `memory` and gives its result."""
        name, cell = operation[0], operation[1]
        place = self.place[cell]
        old = memory[place]
        if cell[0] in RECORD and memory[self.place["deleted", cell[1]]]:
            raise Broken(f"R8: {name} of {cell[0]} of slab {cell[1]}, which was deleted")
        if name == "exchange" and cell[0] == "summary" and not old:
            raise Broken(f"R7: slab {cell[1]} was delivered without a summary")
        if name == "load":
            if cell[0] == "next":
                memory[self.place["linked", cell[1]]] = 0
            return old
        if name == "compare_exchange":
            if old != operation[2]:
                return False
            self.link(memory, cell, operation[3])
            memory[place] = operation[3]
            return True
        if name == "fetch_or":
            if cell[0] == "word" and old & operation[2]:
                raise Broken(f"R9: bits {old & operation[2]:b} of {cell} are sent twice")
            memory[place] = old | operation[2]
        elif name == "take_lock":
            memory[place] = 1
        else:
            self.link(memory, cell, operation[2])
            memory[place] = operation[2]
        return old

    def link(self, memory, cell, value):
        if cell[0] == "next" and memory[self.place["linked", cell[1]]]:
            raise Broken(f"R4: the link of slab {cell[1]} is written while it is in an inbox")
        if cell[0] == "inbox" and value != NONE:
            linked = self.place["linked", value]
            if memory[linked]:
                raise Broken(f"R4: slab {value} is pushed twice")
            memory[linked] = 1

    def enabled(self, memory, operation):
        return operation is not None and (operation[0] != "take_lock" or not memory[self.place[operation[1]]])

    def successors(self, state):
        memory, positions = state
        waiting = False
        ran = False
        for index, program in enumerate(self.scenario.programs):
            call, results = positions[index]
            if call >= len(program):
                continue
            operation = self.next_operation(program[call], results)
            if not self.enabled(memory, operation):
                waiting = True
                continue
            ran = True
            changed = list(memory)
            step = (index, program[call][0], operation)
            try:
                result = self.execute(changed, operation)
                position, _ = self.advance(changed, program, (call, results + (result,)))
            except Broken as broken:
                yield step, broken
                continue
            yield step, (tuple(changed), positions[:index] + (position,) + positions[index + 1 :])
        if waiting and not ran:
            yield (None, "", ()), Broken("R6: deadlock")

    def quiescence(self, memory):
        """All programs have ended: the heaps drain until their inboxes are empty; then all must be home."""
        memory = list(memory)
        for _ in range(3):
            for heap in range(self.scenario.heaps):
                position = (0, ())
                program = (("send", heap), ("drain", heap))
                while True:
                    position, operation = self.advance(memory, program, position)
                    if operation is None:
                        break
                    position = (position[0], position[1] + (self.execute(memory, operation),))
        for slab in self.scenario.lent:
            if memory[self.place["filed", slab]] == LENT:
                raise Broken(f"R10: slab {slab} is in no heap's lists")
        for slab, word in self.freed:
            lost = memory[self.place["freed", slab, word]] & ~memory[self.place["home", slab, word]]
            if lost:
                raise Broken(f"R1: bits {lost:b} of slab {slab}, word {word} never come home")

    def explore(self):
        """The number of states; Broken when a property fails in one of them."""
        memory = list(self.cells.values())
        positions = tuple(self.advance(memory, program, (0, ()))[0] for program in self.scenario.programs)
        first = (tuple(memory), positions)
        came_from = {first: None}
        stack = [first]
        while stack:
            state = stack.pop()
            last = True
            for step, following in self.successors(state):
                last = False
                if isinstance(following, Broken):
                    raise Broken(self.report(following, state, step, came_from))
                if following not in came_from:
                    came_from[following] = (state, step)
                    stack.append(following)
            if last:
                try:
                    self.quiescence(state[0])
                except Broken as broken:
                    raise Broken(self.report(broken, state, None, came_from)) from broken
        return len(came_from)

    def report(self, broken, state, step, came_from):
        steps = [step] if step else []
        while came_from[state]:
            state, earlier = came_from[state]
            steps.append(earlier)
        lines = [str(broken)]
        for index, call, operation in reversed(steps):
            if index is not None:
                lines.append(f"    program {index} ({call}): {' '.join(str(part) for part in operation)}")
        return "\n".join(lines)


def explore_all(protocol, scenarios):
    """[(scenario, states or None, what broke or None)]"""
    outcomes = []
    for scenario in scenarios:
        try:
            outcomes.append((scenario, Explorer(protocol(bool(scenario.lent)), scenario).explore(), None))
        except Broken as broken:
            outcomes.append((scenario, None, broken))
    return outcomes


def check_mutation(mutation, scenarios, verbose):
    """True when some scenario shows that the mutated protocol is wrong."""
    for scenario in scenarios:
        try:
            Explorer(mutation(bool(scenario.lent)), scenario).explore()
        except Broken as broken:
            text = str(broken) if verbose else str(broken).split("\n", 1)[0]
            print(f"found: {mutation.name}: in '{scenario.name}': {text}")
            return True
    print(f"NOT FOUND: {mutation.name}")
    return False


def main():
    parser = argparse.ArgumentParser(description="explores the remote-free protocol")
    parser.add_argument("--verbose", action="store_true", help="print the way to each finding of a mutation")
    parser.add_argument("scenario", nargs="*", help="only the scenarios whose name contains one of these")
    arguments = parser.parse_args()
    scenarios = [
        scenario
        for scenario in SCENARIOS
        if not arguments.scenario or any(text in scenario.name for text in arguments.scenario)
    ]
    failures = 0
    for scenario, states, broken in explore_all(Protocol, scenarios):
        if broken:
            failures += 1
            print(f"BROKEN: {scenario.name}: {broken}")
        else:
            print(f"holds: {scenario.name}: {states} states")
    if not arguments.scenario:
        failures += sum(not check_mutation(mutation, scenarios, arguments.verbose) for mutation in MUTATIONS)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
