"""Tests of exported models."""
