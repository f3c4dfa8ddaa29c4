"""Bandwidth in the columns of nccl-tests, and the bytes that links carried"""
