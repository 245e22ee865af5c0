"""The ledger: who held what of which card and of which quota for how long, and what it costs, folded from the log."""
