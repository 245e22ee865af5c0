"""Every event of the log: facts that are observed, decisions that services make, and the values that both carry."""
