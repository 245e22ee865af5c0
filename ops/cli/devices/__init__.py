"""`kuelog devices` and `kuelog drift`: cards."""
