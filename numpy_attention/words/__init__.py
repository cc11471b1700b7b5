"""Words for people: text that lines up, two languages, colours, and files that are written whole and read with care.

terminal.py    how wide a text is, padding, wrapping, tables in a terminal
labels.py      tokens and titles that anybody may have chosen, made safe and visible
numbers.py     numbers and matrices as text
languages.py   sentences in Chinese and English
colours.py     colour maps, hues, and an ink that can be read on a colour
files.py       writing a file: the whole of it or nothing
npz.py         reading an .npz file that anybody may have made

Every other package may use this one; it knows none of them, and needs NumPy alone.
"""
