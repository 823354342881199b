/** Types that several modules share; nothing in here runs. */

/**
 * A file of the payload, as in the manifest; `late`: the host makes it when it is asked for it by its name; `data`: its
 * bytes in base64, if they came with the manifest.
 * @typedef {{path?: string, size?: number, url?: string, late?: boolean, data?: string, name?: string}} PayloadFile
 */

/**
 * Which model is meant, as `vitviz.load` takes it. image_size: height and width of its pictures, null for its own.
 * @typedef {{name: string, untrained: boolean, image_size: number[]|null}} ModelKey
 */

/**
 * The model in a manifest: what is true of every picture in it. `measurements`: metrics by name; `boxes`: metrics of maps
 * against boxes; `others`: how well it tells pictures of its classes from others; `photographs`: the same of large
 * photographs; `words`: translations, language -> kind -> English.
 * @typedef {{
 *   name: string, key: ModelKey, title: string, source: string, num_parameters: number, trained: boolean,
 *   head: "classes"|"embedding"|"tokens"|"none", temperature: number, details: Record<string, string>,
 *   measurements: {boxes?: Record<string, {energy: number, pointing: number}>, others?: Record<string, number>, photographs?: Record<string, number>,
 *     [name: string]: any},
 *   kinds: {name: string, labels: string[]}[], light_ink_only: boolean,
 *   image: {height: number, width: number, channels: number}, mean: number[], std: number[],
 *   grid: {rows: number, cols: number, patch_height: number, patch_width: number},
 *   prefix_tokens: string[], depth: number, num_heads: number, head_dim: number, embed_dim: number,
 *   num_tokens: number, scale: number, steps: Step[], embedding_norms: string[],
 *   attention_norm: "layernorm"|"rmsnorm"|"", attention_parts: string[], num_classes: number,
 *   pool: "token"|"avg"|"map"|"", outlier_times: number, explainers: Explainer[],
 *   tested: {pictures: number, data: string, date: string}|null,
 *   words: Record<string, Record<string, Record<string, string>>>,
 * }} Model
 */

/**
 * The photo in a manifest. `frame`: top, left, height, width of what the model saw, as shares of the photo; `words`:
 * translations of its notes, language -> English.
 * @typedef {{name: string, notes: string[], inverted: boolean, dark_ink: boolean, frame: number[]|null,
 *   words: Record<string, Record<string, string>>}} Photo
 */

/**
 * A pass in a manifest: what was changed in it, and what came out. `id`: of the intact analysis with its host, unless
 * something was changed; `removed`: the patches that were taken out; `first`: the rows of attention that came ahead;
 * `probabilities`: of all classes in a changed pass, empty where there are very many.
 * @typedef {{
 *   id?: string, changes: any[], removed: number[], first: {layer: number, token: number, direction: "from"|"to"},
 *   predictions: Prediction[], probabilities?: number[], groups: Group[], answer: Answer|null,
 *   known_or_not: KnownOrNot|null, lens: LensLine[],
 * }} Pass
 */

/**
 * What a question to the host is about: the intact analysis, and what is changed in its pass.
 * @typedef {{id: string, interventions?: any[]}} Asked
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
 * The manifest of an analysis: vitviz/viewer/payload.py writes its four subjects, and hosts may add to it.
 * start: what is selected where no link selects anything, and tokens that are shown by turns; asked: how the host knows
 * the pass, if something was changed in it.
 * @typedef {{
 *   version: number, model: Model, photo: Photo, pass: Pass, files: Record<string, PayloadFile>,
 *   link?: Record<string, string>, beside?: Beside[], upload?: {address: string, name: string},
 *   start?: {layer: number, head: number|"mean", token: number, walk?: number[]}, asked?: Asked,
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
