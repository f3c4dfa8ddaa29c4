"""Plots of a sweep as a paper shows them: what is drawn, how it fits, and the script that draws it again."""
