"""What is printed and where it has to fit: the width of a stream, text and tables folded to it, the line that shows
progress."""
