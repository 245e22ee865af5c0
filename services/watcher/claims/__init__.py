"""Devices that pods claim: classes, templates and slices as they were last seen, and what claims come to in units of quota"""
