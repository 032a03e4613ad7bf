"""`python -m pyreftable_cli`."""

from .main import run

run()
