"""The cards: how HAMi writes them down, who asks for what, and whether and where it fits."""
