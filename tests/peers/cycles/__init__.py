"""One scheduling cycle of Kueue's own scheduler beside one of kuelog, in worlds by chance."""
