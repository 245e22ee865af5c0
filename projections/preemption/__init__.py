"""Who could make room, who has to, and what protects from it."""
