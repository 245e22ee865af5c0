"""Bills: the log read in order, the ledger folded from it, and the forms in which it is handed out."""
