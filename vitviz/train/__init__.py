"""Train small ViTs that vitviz can take apart: `python -m vitviz.train --help`.

In the order in which to read it: `recipe` says what to do and `recipes` has done it, `dataset`
reads pictures (`others`: those of none of the classes), `order` says when they come, `augment`,
`ink` and `mix` change them, `learner` is what learns, `optim` moves weights, `run` is one step
(`precision`: in which numbers, `processes`: by how many), `loop` takes them all (`start`: from
which weights), `checkpoint` remembers, `filming` watches, `scores`, `boxes` and `photographs`
measure, `comparison` tests explainers, `report` tells, `measure` asks for it, `names` says what
classes are called, `command` is the door.
"""
