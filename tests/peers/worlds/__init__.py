"""Small worlds by chance, decided by Kueue's own manager and by kuelog."""
