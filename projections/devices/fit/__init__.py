"""Whether one pod fits the cards of one node, which it gets, and how these score: HAMi's checks and policies."""
