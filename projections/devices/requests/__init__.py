"""What containers request of cards, after what HAMi's webhook makes of it, and what is wrong with it."""
