"""The `pyreftable` command: git's ref plumbing on the command line."""
