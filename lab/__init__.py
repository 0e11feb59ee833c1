"""The measurement lab behind `hakmem bench|soak|tail|ab|scorecard|peers`.

Every claim about an allocator is checked here, against every peer, on a machine that is taken to be noisy: runs are
short and interleaved, ratios are taken between neighbours, and what is printed is a median with an interval.
docs/lab.md says how it measures and how it can be wrong.
"""
