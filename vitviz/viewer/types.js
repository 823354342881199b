/** Types that several modules share; nothing in here runs. */

/**
 * A file of the payload, as the manifest names it; `late`: its name, where the host makes it when asked.
 * @typedef {{path: string, size?: number, url?: string, late?: string}} PayloadFile
 */

/**
 * What a manifest says of the model. `figures`: what was measured, by name; of maps with boxes.
 * @typedef {{
 *   name: string, title: string, source: string, num_parameters: number, trained: boolean,
 *   head: "classes"|"embedding"|"tokens"|"none", temperature: number, details: Record<string, string>,
 *   figures: {boxes?: Record<string, {energy: number, pointing: number}>, [name: string]: any},
 *   kinds: {name: string, labels: string[]}[],
 * }} Model
 */

/**
 * What the model answered. `sure` is null where nobody knows what its percentages mean.
 * @typedef {{index: number, label: string, logit: number, probability: number}} Prediction
 * @typedef {{name: string, probability: number, classes: number[]}} Group
 * @typedef {{kind: "group"|"class", name: string, probability: number, sure: boolean|null}} Answer
 * @typedef {{index: number, label: string, probabilities: number[], ranks: number[]}} LensLine
 *   of one class after each block
 */

/**
 * A tensor on the way from pixels to logits; `tokens` are those it speaks of, null: the picture.
 * @typedef {{name: string, module: string, shape: number[], tokens: [number, number]|null,
 *   in_block: boolean}} Step
 */

/**
 * What describes an analysis: vitviz/viewer/payload.py writes it, and hosts may add to it.
 * @typedef {{
 *   version: number, id: string, link?: Record<string, string>, beside?: Beside[],
 *   model: Model, photo: {name: string, notes: string[]}, words?: Record<string, Record<string, Record<string, string>>>,
 *   image: {height: number, width: number, channels: number}, mean: number[], std: number[],
 *   grid: {rows: number, cols: number, patch_height: number, patch_width: number},
 *   prefix_tokens: string[], depth: number, num_heads: number, head_dim: number, embed_dim: number,
 *   num_tokens: number, scale: number, steps: Step[], embedding_norms: string[],
 *   late: string[], attention_error: number, outlier_times: number,
 *   num_classes: number, pool: "token"|"avg"|"map"|"", predictions: Prediction[], groups: Group[],
 *   answer: Answer|null, lens: LensLine[],
 *   files: {picture: PayloadFile, layers: PayloadFile[], features?: PayloadFile,
 *     statistics?: PayloadFile, untrained?: PayloadFile,
 *     tokens: PayloadFile[], embedding?: PayloadFile, film?: PayloadFile},
 * }} Manifest
 */

/**
 * What can be put beside an analysis; `photo`: the name of a file; `name`: of a model or an example, in English;
 * `names`: the same in other languages.
 * @typedef {{key: string, kind: "untrained"|"trained"|"example"|"model"|"other"|"kept", photo?: string, name?: string,
 *   names?: Record<string, string>}} Beside
 */

/**
 * What is drawn: of a source the token that is looked at, the one that is pointed at, what lies over the picture.
 * @typedef {{source: import("./data/source.js").Source, token: number, pointer: number|null,
 *   shown: import("./maths/overlay.js").Overlay}} View
 */

/**
 * A panel as it is laid out; `destroy` ends what it has begun.
 * @typedef {{root: HTMLElement, render: (view: View) => void, destroy?: () => void}} Panel
 */

/**
 * What a line of the ledger speaks of: the picture as a whole, or tokens from the first to before the end.
 * @typedef {"picture"|{first: number, end: number}|null} Lit
 */

/**
 * How things are drawn; `own`: fields that a panel adds.
 * @typedef {{colours: string, scale: "map"|"heads", smooth: boolean, opacity: number, grid: boolean,
 *   projector: boolean, [own: string]: any}} Taste
 */

export {};
