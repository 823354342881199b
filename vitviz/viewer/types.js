/** Types that several modules share; nothing in here runs. */

/**
 * A file of the payload, as in the manifest; `late`: its name, if the host makes it on demand; `data`: its bytes in
 * base64, if they came with the manifest.
 * @typedef {{path: string, size?: number, url?: string, late?: string, data?: string}} PayloadFile
 */

/**
 * Which model is meant, as `vitviz.load` takes it. image_size: height and width of its pictures, null for its own.
 * @typedef {{name: string, untrained: boolean, image_size: number[]|null}} ModelKey
 */

/**
 * The model in a manifest. `measurements`: metrics by name; `boxes`: metrics of maps against boxes; `others`: how well it
 * tells pictures of its classes from others; `photographs`: the same of large photographs.
 * @typedef {{
 *   name: string, key: ModelKey, title: string, source: string, num_parameters: number, trained: boolean,
 *   head: "classes"|"embedding"|"tokens"|"none", temperature: number, details: Record<string, string>,
 *   measurements: {boxes?: Record<string, {energy: number, pointing: number}>, others?: Record<string, number>, photographs?: Record<string, number>,
 *     [name: string]: any},
 *   kinds: {name: string, labels: string[]}[], light_ink_only: boolean,
 * }} Model
 */

/**
 * The predictions of the model. `sure` is null if the calibration of its probabilities is unknown, `known` if the
 * model was not trained to tell pictures of its classes from others.
 * @typedef {{index: number, label: string, logit: number, probability: number}} Prediction
 * @typedef {{name: string, probability: number, classes: number[]}} Group
 * @typedef {{kind: "group"|"class", name: string, probability: number, sure: boolean|null, known: boolean|null}} Answer
 * @typedef {{score: number, threshold: number, known: boolean, kept: number, sentence: string|null}} KnownOrNot
 *   whether the picture shows one of the classes; kept: the share of pictures of the classes that the threshold was
 *   set to keep; sentence: in English, null where the picture counts as known
 * @typedef {{index: number, label: string, probabilities: number[], ranks: number[]}} LensLine
 *   of one class after each block
 */

/**
 * One of the ways to say how much every token matters, as Python's registry has it. `names`, `sentences`: in other
 * languages; `needs`: what its values depend on and how it is made; `passes`: by its definition; `measured`: mean and half
 * of the 95 % interval of each figure of the fair tests; `late`: whether the host makes its values when asked.
 * @typedef {{key: string, name: string, names: Record<string, string>, sentence: string, sentences: Record<string, string>,
 *   paper: string, signed: boolean, needs: string[], passes: number, late: boolean,
 *   measured: Record<string, {mean: number, half: number}>|null}} Explainer
 */

/**
 * A tensor between pixels and logits; `tokens`: the range of tokens that it holds, null for the picture.
 * @typedef {{name: string, module: string, shape: number[], tokens: [number, number]|null,
 *   in_block: boolean}} Step
 */

/**
 * The manifest of an analysis: vitviz/viewer/payload.py writes it, and hosts may add to it.
 * changes: the interventions of the pass; removed: the patches that they took out; probabilities: of all classes in such
 * a pass; empty where there are very many.
 * start: what is selected where no link selects anything, and tokens that are shown by turns.
 * @typedef {{
 *   version: number, id: string, link?: Record<string, string>, beside?: Beside[], upload?: {address: string, name: string},
 *   start?: {layer: number, head: number|"mean", token: number, walk?: number[]},
 *   model: Model, photo: {name: string, notes: string[], inverted: boolean, dark_ink: boolean, frame?: number[]|null},
 *   words?: Record<string, Record<string, Record<string, string>>>,
 *   image: {height: number, width: number, channels: number}, mean: number[], std: number[],
 *   grid: {rows: number, cols: number, patch_height: number, patch_width: number},
 *   prefix_tokens: string[], depth: number, num_heads: number, head_dim: number, embed_dim: number,
 *   num_tokens: number, first: {layer: number, token: number, direction: "from"|"to"}, scale: number, steps: Step[],
 *   embedding_norms: string[], changes: any[], removed: number[], attention_norm: "layernorm"|"rmsnorm"|"", attention_parts: string[],
 *   explainers: Explainer[], tested: {pictures: number, data: string, date: string}|null, late: string[], outlier_times: number,
 *   num_classes: number, pool: "token"|"avg"|"map"|"", predictions: Prediction[], probabilities?: number[], groups: Group[],
 *   answer: Answer|null, known_or_not: KnownOrNot|null, lens: LensLine[],
 *   files: {first: PayloadFile, picture: PayloadFile, layers: PayloadFile[], features?: PayloadFile,
 *     photograph?: PayloadFile, positions?: PayloadFile, whole?: PayloadFile, statistics?: PayloadFile, untrained?: PayloadFile,
 *     tokens: PayloadFile[], embedding?: PayloadFile, film?: PayloadFile, rollout?: PayloadFile},
 * }} Manifest
 */

/**
 * An analysis that can be put beside another; `photo`: name of a file; `name`: of a model or an example, in English;
 * `names`: the same in other languages.
 * @typedef {{key: string, kind: "untrained"|"trained"|"example"|"photo"|"model"|"other"|"kept"|"operated", photo?: string, name?: string,
 *   names?: Record<string, string>}} Beside
 */

/**
 * A view: a source with the shown token, the token under the pointer, and the overlay.
 * @typedef {{source: import("./data/source.js").Source, token: number, pointer: number|null,
 *   shown: import("./state/overlays.js").Overlay}} View
 */

/**
 * A panel on the page; `destroy` stops its timers and background work.
 * @typedef {{root: HTMLElement, render: (view: View) => void, destroy?: () => void}} Panel
 */

/**
 * What a line of the ledger is about: the whole picture, or the tokens from `first` to before `end`.
 * @typedef {"picture"|{first: number, end: number}|null} Lit
 */

/**
 * How things are drawn; `own`: fields that a panel adds.
 * @typedef {{colours: string, sight: "photograph"|"model", scale: "map"|"heads", smooth: boolean, opacity: number, grid: boolean, rulers: boolean, fromOne: boolean,
 *   projector: boolean, [own: string]: any}} Taste
 */

export {};
