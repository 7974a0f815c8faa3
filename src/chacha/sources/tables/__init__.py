"""Tables: columns of many rows become examples or blocks.

The stages: a `batch` (columns as a file gives them) is checked against the `schema` (which column
is what) and becomes a `checked_batch` (labels, and errors by row); `column_kinds` decides what the
columns hold; `cell_maker` and `columns` turn values into cells (VW text and features); `assembler`
puts the cells of a row together to an example, or `table_block` makes a block of columns of
`blocks` without examples. `reader` runs these stages over a table.
"""
