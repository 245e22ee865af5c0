"""The lines of the ledger, whose they are, and what a ledger is asked for."""
