"""Train small ViTs that vitviz can take apart: `python -m vitviz.train --help`.

In the order in which to read it: `recipe` says what to do, `dataset` reads pictures, `augment` changes them, `optim`
moves weights, `loop` does it again and again, `evaluate` measures, `checkpoint` remembers, `command` is the door.
"""
