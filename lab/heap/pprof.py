"""The profile as pprof and what reads its format take it: gzipped protocol buffers.

Four values a sample, in the order that heap profiles of other makers have. They are estimates already: nothing is to be
scaled by the period. A mapping all of whose functions we know is marked as having names, which pprof then keeps; with
-symbolize=force it finds lines and inlined calls, too, where the files and their DWARF are. Of other mappings it asks
the files itself.
"""

from __future__ import annotations

import gzip
import re
from typing import Any

from lab.explain.plain import printable
from lab.heap.images import Frame, exported
from lab.heap.messages import profile_class
from lab.heap.names import demangled, short
from lab.heap.profile import CodeMapping, Profile, Stack

SAMPLE_TYPES = (("alloc_objects", "count"), ("alloc_space", "bytes"), ("inuse_objects", "count"), ("inuse_space", "bytes"))
SHOWN_FIRST = "inuse_space"


def encoded(profile: Profile) -> bytes:
    """The bytes of the file: the same profile always gives the same."""
    return gzip.compress(_Writer(profile).message.SerializeToString(deterministic=True), mtime=0)


def drop_frames() -> str:
    """A pattern of the functions of hakmem that a program calls: pprof drops them with what they call."""
    names = {short(demangled(name)) for name in exported()}
    return "|".join(re.escape(name).replace("\\ ", " ") for name in sorted(names))


class _Writer:
    """Fills the message; what is said twice is written once."""

    def __init__(self, profile: Profile) -> None:
        self.profile = profile
        self.message: Any = profile_class()()
        self._texts: dict[str, int] = {}
        self._functions: dict[tuple[str, str, str], int] = {}
        self._locations: dict[int, int] = {}
        self._mappings: dict[int, int] = {}
        self._nameless = {
            frame.mapping.start for stack in profile.stacks for frame in stack.frames if frame.mapping and not frame.name
        }
        self._text("")
        self._head()
        for mapping in profile.mappings:
            self._mapping(mapping)
        for stack in profile.stacks:
            self._sample(stack)

    def _text(self, text: str) -> int:
        if text not in self._texts:
            self._texts[text] = len(self._texts)
            self.message.string_table.append(text)
        return self._texts[text]

    def _head(self) -> None:
        profile, message = self.profile, self.message
        for kind, unit in SAMPLE_TYPES:
            message.sample_type.add(type=self._text(kind), unit=self._text(unit))
        message.default_sample_type = self._text(SHOWN_FIRST)
        message.period_type.type, message.period_type.unit = self._text("space"), self._text("bytes")
        message.period = profile.rate
        message.time_nanos = profile.time_ns
        message.drop_frames = self._text(drop_frames())
        live, taken = profile.live.samples, profile.allocated.samples
        for words in (
            f"hakmem {profile.release} {profile.variant}",
            f"process {profile.pid}: {printable(profile.command)}",
            f"{taken} samples, {live} of them live, one each {profile.rate} bytes on average; {profile.lost} lost",
        ):
            message.comment.append(self._text(words))

    def _mapping(self, mapping: CodeMapping) -> None:
        number = len(self._mappings) + 1
        self._mappings[mapping.start] = number
        self.message.mapping.add(
            id=number,
            memory_start=mapping.start,
            memory_limit=mapping.end,
            file_offset=mapping.offset,
            filename=self._text(mapping.path),
            build_id=self._text(mapping.build_id),
            has_functions=mapping.start not in self._nameless,
        )

    def _sample(self, stack: Stack) -> None:
        values = [stack.allocated.blocks, stack.allocated.bytes, stack.live.blocks, stack.live.bytes]
        sample = self.message.sample.add(
            location_id=[self._location(frame) for frame in stack.frames], value=[round(value) for value in values]
        )
        sample.label.add(key=self._text("bytes"), num=stack.bytes_each, num_unit=self._text("bytes"))

    def _location(self, frame: Frame) -> int:
        if frame.address not in self._locations:
            number = self._locations[frame.address] = len(self._locations) + 1
            mapping = self._mappings.get(frame.mapping.start, 0) if frame.mapping else 0
            location = self.message.location.add(id=number, mapping_id=mapping, address=frame.address)
            if frame.name:
                location.line.add(function_id=self._function(frame))
        return self._locations[frame.address]

    def _function(self, frame: Frame) -> int:
        key = (frame.name, frame.symbol, frame.image)
        if key not in self._functions:
            number = self._functions[key] = len(self._functions) + 1
            name = self._text(short(frame.name))
            self.message.function.add(id=number, name=name, system_name=self._text(frame.symbol))
        return self._functions[key]
