"""The tour: some stops in the window, at each of which the person does one thing and reads what it shows.

It may import all of the window but `gui/window` and `gui/app`.
"""
