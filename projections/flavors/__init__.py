"""Which flavor a pod set gets, and why not another one."""
