"""Long runs of the mixed workload: `sources` run one epoch at a time, `rounds` take turns, `outcome` sums up, `record`
writes files. The first two need the standard library only; scripts/measure/soak.py uses them without the lab's packages.
"""
