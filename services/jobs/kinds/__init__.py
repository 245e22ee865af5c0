"""The kinds of jobs: a row each, how the pods of each are read, and which are managed"""
