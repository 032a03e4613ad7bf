"""Benchmarks, beside any number of gits.

`python -m perf` runs all workloads (`perf.workloads` lists them) and writes tables and plots. Some
can be run alone, with more to choose from: `python -m perf.NAME --help`.

p1401     creating refs where many were deleted (git's t/perf p1401)
readers   readers beside a writer
"""
