"""Objects that services have set aside because they failed on them, and what makes a service try one again."""
