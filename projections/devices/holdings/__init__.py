"""Who holds what of which card: reserved by the log, shown by annotations, and where the two disagree."""
