"""Where the time of every card went, and who held it."""
