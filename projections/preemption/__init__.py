"""Who could make room, and who has to."""
