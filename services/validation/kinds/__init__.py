"""One kind of object each: the rules of its webhook and of its definition."""
