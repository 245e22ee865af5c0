"""How fields of objects are read: quantities, pod templates, states of checks; and what is wrong where one cannot be."""
