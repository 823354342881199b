/**
 * Lines of a Vision Transformer of one's own, with a gap: those of the exercise (vitviz/exercise), and of a
 * training.
 */

/** Strings, for the bundle takes the indentation of its own lines away. */
const LINES = {
  join: [
    "def join(self, shares, v):  # (B, H, N, N) and (B, H, N, d) -> (B, N, D)",
    "    joined = ...",
    "    return joined",
  ],
  block: ["def forward(self, x):  # (B, N, D) -> (B, N, D)", "    x = ...", "    x = ...", "    return x"],
  step: [
    "logits = model(pixels)",
    "loss = ...",
    "loss.backward()",
    "optimizer.step()",
    "optimizer.zero_grad()",
  ],
};

/** @type {Record<keyof typeof LINES, string>} */
export const CODE = {
  join: LINES.join.join("\n"),
  block: LINES.block.join("\n"),
  step: LINES.step.join("\n"),
};
