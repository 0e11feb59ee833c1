"""Long runs of the mixed workload: `sources` run one epoch at a time and `rounds` take turns; `measure` is all of it in
one call, `outcome` sums up, `table` says it and `files` keeps it. All but `files` need the standard library only, so
that scripts/measure/soak.py works without the lab's packages.
"""
