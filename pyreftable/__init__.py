"""Git's reftable ref storage in pure Python."""
