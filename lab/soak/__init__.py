"""Long runs of the mixed workload: `sources` run one epoch at a time, `rounds` take turns, `outcome` sums up, `table`
says it and `files` keeps it. The first two need the standard library only, so that scripts/measure/soak.py works without
the lab's packages.
"""
