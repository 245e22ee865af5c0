"""Objects, facts and messages of every kind, as wild as they come, put to all services at once."""
