"""The queue manager: who is in line, who is parked and what wakes them, what time limits end."""
