"""Commands that run until they are stopped: up, run, console, visibility, webhook; and demo."""
