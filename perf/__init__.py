"""Benchmarks, each a script to run by hand: `python -m perf.NAME --help`.

p1401   creating refs where many were deleted, against any git (git's t/perf p1401)
"""
