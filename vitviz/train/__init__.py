"""Train small ViTs that vitviz can take apart: `python -m vitviz.train --help`.

In the order in which to read it: `recipe` says what to do, `dataset` reads pictures, `augment` and
`mix` change them, `optim` moves weights, `run` is one step (`precision`: in which numbers,
`processes`: by how many), `loop` takes them all (`start`: from which weights), `checkpoint`
remembers, `filming` watches, `evaluate` and `boxes` measure, `report` tells, `plot` draws,
`command` is the door.
"""
