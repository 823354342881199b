"""Train small ViTs that vitviz can take apart: `python -m vitviz.train --help`.

In the order in which to read it: `recipe` says what to do, `dataset` reads pictures, `augment`
changes them, `optim` moves weights, `run` is one step (`precision`: in which numbers), `loop` takes
them all, `checkpoint` remembers, `evaluate` measures, `command` is the door.
"""
