"""State folded from events (the world), and pure functions that answer questions about it."""
