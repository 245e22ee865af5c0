"""`kubectl kuelog`: the commands of kueuectl, and what they share."""
