"""Commands that ask the log: explain, history, replay, top, whatif, log show."""
