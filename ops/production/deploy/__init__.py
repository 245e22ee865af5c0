"""How kuelog runs in a cluster: everything that is applied there, made from one source."""
