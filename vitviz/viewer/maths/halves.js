/** Halves: the middle and the rim of a picture, as in vitviz/many/halves.py. */

/**
 * The patches of the middle and those of the rim, half of all each: see `sides` of vitviz/many/halves.py.
 * @param {{rows: number, cols: number}} grid
 */
export function sidesOf({ rows, cols }) {
  const far = Array.from({ length: rows * cols }, (_, patch) => {
    const [row, col] = [Math.floor(patch / cols), patch % cols];
    const [down, right] = [Math.abs(2 * row + 1 - rows) * cols, Math.abs(2 * col + 1 - cols) * rows];
    return { patch, most: Math.max(down, right), square: down ** 2 + right ** 2 };
  });
  far.sort((a, b) => a.most - b.most || a.square - b.square || a.patch - b.patch);
  const half = Math.floor(far.length / 2);
  const sorted = (some) => some.map(({ patch }) => patch).sort((a, b) => a - b);
  return { middle: sorted(far.slice(0, half)), rim: sorted(far.slice(far.length - half)) };
}

/**
 * The half that a thing is known by: see `Halves.reads` of vitviz/many/halves.py.
 * @param {{right: number, withoutMiddle: number, withoutRim: number}} counts
 * @returns {"nothing"|"both"|"middle"|"rim"}
 */
export function readOf({ right, withoutMiddle, withoutRim }) {
  if (right === 0) return "nothing";
  const apart = withoutRim - withoutMiddle;
  if (Math.abs(apart) < 2 || 4 * Math.abs(apart) < right) return "both";
  return apart > 0 ? "middle" : "rim";
}
