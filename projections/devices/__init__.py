"""The cards: how HAMi writes them down, who asks for what, whether and where it fits, and who holds what of them."""
