"""`kuelog bill`, `price` and `budget`: time and money."""
