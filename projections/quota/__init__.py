"""The quota trees: what cluster queues and cohorts own, use, lend and borrow, and who holds it."""
