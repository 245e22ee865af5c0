"""How much of the cards there is, how much a flavor really offers, and what is scattered."""
