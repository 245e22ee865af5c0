"""Who held quota, and who lent it to whom."""
