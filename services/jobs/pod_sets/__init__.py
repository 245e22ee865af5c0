"""One pod set of a job: what an admission adds to its pods, and takes out again when the job stops"""
