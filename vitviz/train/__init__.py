"""Train small ViTs that vitviz can take apart: `python -m vitviz.train --help`.

In the order in which to read it: `recipe` has the settings and `recipes` those of the shipped
models, `dataset` reads pictures (`others`: pictures of none of the classes), `order` shuffles them,
`augment`, `ink` and `mix` change them, `learner` is the model in training, `teacher` has what
another network says of the pictures, `optim` has the optimisers, `run` takes one step (`precision`:
number formats, `processes`: several processes), `loop` takes all steps (`start`: from the weights
of another run), `checkpoint` saves the state,
`filming` the film, `scores`, `boxes` and `photographs` measure, `comparison` tests explainers,
`report` has all measurements, `measure` is `--evaluate`, `progress` shows how far work is, `names`
has the names of classes in other languages, `shortcut` makes digits with a red square, `errors`
has `TrainError`, `command` is the command line.
"""
