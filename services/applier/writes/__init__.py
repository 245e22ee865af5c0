"""How writes go out: how many at once, how often again, and which come after all others."""
