"""Tests of what is wrong with objects."""
