"""One partition at work: its fold, the host around its deciders, what keeps it from going on, and what is wrong with a message"""
