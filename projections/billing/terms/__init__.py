"""What operators have entered: prices, accounts, rates of exchange, and from when each is in force."""
