"""A page to step through a kernel: each event of a launch that its traced build recorded, with what its lanes access.
"""
from view.explanations import OWN, WORDS, captions, translatable_texts, usual_launch, usual_shape, words
from view.html_page import OF_MATRIX, fragments, packed, page
from view.recording import read, record

LONGEST = 512  # the longest edge of a matrix that a page can show
