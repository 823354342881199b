/** Types that several modules share; nothing in here runs. */

/**
 * A file of the payload, as in the manifest. `late`: the host makes it on demand, by its name; `share`: the
 * share that is done while it is made; `data`: its bytes in base64, if they came with the manifest; `make`:
 * function that makes the bytes, for a pass that was computed in this page; `there`: whether the host has
 * made the late file; `asked`: the pass that a late file belongs to, if not this one.
 * @typedef {{path?: string, size?: number, url?: string, late?: boolean, data?: string, name?: string,
 *   share?: number, there?: boolean, asked?: Asked,
 *   make?: (signal: AbortSignal) => Promise<ArrayBuffer>}} PayloadFile
 */

/**
 * Identifies a model as `vitviz.load` takes it. image_size: height and width of its pictures, null for its
 * own.
 * @typedef {{name: string, untrained: boolean, image_size: number[]|null}} ModelKey
 */

/**
 * The place of the digits in a training, as shares of a side: their longer side, the least and the most of
 * it, and how far their centre of mass was from the middle.
 * @typedef {{side: number, least: number, most: number, off: number}} TaughtPlace
 */

/**
 * The model in a manifest: what is true of every picture in it. `measurements`: metrics by name; `boxes`:
 * metrics of maps against boxes; `others`: how well it tells pictures of its classes from others;
 * `photographs`: the same for large photographs; `sizes`: possible sizes of its pictures, `times`: the work
 * as a multiple of that at `trained_size`; `words`: translations, language -> kind -> English; `labels`:
 * labels of all classes, null where they are too many to send; `groups`: the group name of each class; for
 * what follows from these see maths/predictions.js; `taught`: counts for a head that was taught: its
 * pictures, the left-out pictures (`of`), and the right answers to the left-out ones; `in_page`: name under
 * which the page requests the weights, null where its engine may not run the model; `weights`: address of the
 * weights; `saved_as`: file name of a model that has learned in this page; `none`: the class of pictures that
 * show none of the others.
 * @typedef {{
 *   name: string, key: ModelKey, title: string, source: string, num_parameters: number, trained: boolean,
 *   head: "classes"|"embedding"|"tokens"|"none", temperature: number, details: Record<string, string>,
 *   assumed: string[], taught: {pictures: number, of: number, right: number}|null,
 *   measurements: {boxes?: Record<string, {energy: number, pointing: number}>,
 *     others?: Record<string, number>, photographs?: Record<string, number>,
 *     [name: string]: any},
 *   outputs: Outputs, labels: string[]|null, groups: string[]|null, calibrated: boolean, threshold: number|null,
 *     known_by?: string, none?: number, kept: number, certain: number|null, not_sure: number, true: number,
 *     named: number,
 *   holds_its_group: number, light_ink_only: boolean, taught_place: TaughtPlace|null,
 *   image: {height: number, width: number, channels: number}, mean: number[], std: number[],
 *   grid: {rows: number, cols: number, patch_height: number, patch_width: number},
 *   prefix_tokens: string[], depth: number, num_heads: number, head_dim: number, embed_dim: number,
 *   sizes: {image_size: [number, number], tokens: number, times: number}[], trained_size: [number, number],
 *   num_tokens: number, scale: number, steps: Step[], embedding_norms: string[],
 *   attention_norm: "layernorm"|"rmsnorm"|"", attention_parts: string[],
 *   mlp: {gated: boolean, activation: string},
 *   position_kinds: string[], num_classes: number,
 *   pool: "token"|"avg"|"token_avg"|"map"|"", outlier_times: number, explainers: Explainer[],
 *   tested: {pictures: number, data: string, date: string}|null,
 *   words: Record<string, Record<string, Record<string, string>>>, in_page?: string|null, weights?: string,
 *   saved_as?: string,
 * }} Model
 */

/**
 * The photo in a manifest. `frame`: top, left, height, width of what the model saw, as shares of the photo;
 * `words`: translations of its notes, language -> English.
 * dark: whether its highest level stays below half of the range; `levels_note`: place in `notes` of the note that
 * it is dark or was stretched.
 * @typedef {{name: string, notes: string[], inverted: boolean, stretched: boolean, dark: boolean,
 *   levels_note: number|null, dark_ink: boolean, frame: number[]|null,
 *   words: Record<string, Record<string, string>>}} Photo
 */

/**
 * A pass in a manifest: what was changed in it. `id`: of the intact analysis with its host, unless something
 * was changed; `removed`: the patches that were taken out; `first`: the rows of attention that came ahead;
 * `labels`: of those classes that are listed, where all are too many to send.
 * `here`: it was computed in this page.
 * @typedef {{
 *   id?: string, changes: any[], removed: number[], first:
 *     {layer: number, token: number, direction: "from"|"to"}, here?: boolean,
 *   labels?: Record<number, string>,
 * }} Pass
 */

/**
 * The results of a pass: a source adds them when the logits are here. `lens`: [] until it was requested.
 * `donors`: pictures whose tokens were put in, by the place of that change; `vector`: the output of a model
 * without class names, in place of an answer; of one with classes the features, if they came with the answer.
 * @typedef {import("./maths/predictions.js").Results
 *   & {lens: LensLine[], vector: Float32Array|null, donors: Record<string, Small>}} PassResults
 * @typedef {{rgba: Uint8ClampedArray<ArrayBuffer>, height: number, width: number}} Small
 */

/**
 * The subject of a request to the host: the intact analysis, and the changes of its pass.
 * @typedef {{id: string, interventions?: any[]}} Asked
 */

/**
 * The predictions of the model. `sure` is null if the calibration of its probabilities is unknown, `known` if
 * the model was not trained to tell pictures of its classes from others.
 * @typedef {"one_of"|"any_of"|"score"|"value"} Outputs  what the outputs of a model mean, as in
 *   vitviz/model/outputs.py
 * @typedef {{index: number, label: string, logit: number, probability: number|null}} Prediction  probability:
 *   null of a value, which is the logit
 * @typedef {{name: string, probability: number, classes: number[]}} Group
 * @typedef
 *   {{kind: "group"|"class", name: string, probability: number|null, sure: boolean|null,
 *   known: boolean|null, level: "answer"|"maybe"|"not_sure"|"none", outputs: Outputs, classes: number[],
 *   parts: Prediction[], count: number}} Answer  as in vitviz/probe/measure/predictions.py
 * @typedef {{score: number, threshold: number, known: boolean, kept: number}} KnownOrNot
 *   whether the picture shows one of the classes; kept: the share of pictures of the classes that the
 *   threshold was set to keep
 * @typedef {{teacher: string|null, voter: string, ask: (question: any) => Promise<any>,
 *   answered: {has: (question: string) => boolean, add: (question: string) => any}}} Room
 *   a class in one room. teacher: the teacher's secret, which pupils' pages do not have; voter: random number
 *   that identifies a pupil; ask: sends a question to the host; answered: the questions whose answer this
 *   page has shown, each with the moment when its class began
 * @typedef {{index: number, label: string, probabilities: number[], ranks: number[]}} LensLine
 *   of one class after each block
 */

/**
 * One of the ways to say how much every token matters, as Python's registry has it. `names`, `sentences`: in
 * other languages; `needs`: what its values depend on and how it is made; `passes`: by its definition;
 * `measured`: mean and half of the 95 % interval of each figure of the fair tests; `late`: whether its values
 * are made when asked for.
 * @typedef {{key: string, name: string, names: Record<string, string>, sentence: string,
 *   sentences: Record<string, string>,
 *   paper: string, signed: boolean, baseline: boolean, needs: string[], passes: number, late: boolean,
 *   measured: Record<string, {mean: number, half: number}>|null}} Explainer
 */

/**
 * A tensor between pixels and logits; `tokens`: the range of tokens that it holds, null for the picture.
 * @typedef {{name: string, module: string, shape: number[], tokens: [number, number]|null,
 *   in_block: boolean}} Step
 */

/**
 * The manifest of an analysis: vitviz/payload/payload.py writes its four subjects, and hosts may add to it.
 * start: the selection where no link selects anything, and the tokens that are shown one after another at the
 * start (parts/walk.js); asked: the request that identifies a changed pass to the host; itself: the example
 * that was analyzed; template: for a photo that has not left this page, an analysis of the same model that
 * the host knows; save: makes the file of a pass that was computed in this page.
 * @typedef {{
 *   version: number, model: Model, photo: Photo, pass: Pass & PassResults, files: Record<string,
 *     PayloadFile>,
 *   link?: Record<string, string>, beside?: Beside[], itself?: Beside, template?: any, upload?:
 *     {address: string, name: string},
 *   start?: {layer: number, head: number|"mean", token: number, walk?: number[]}, asked?: Asked, save?: () =>
 *     ArrayBuffer,
 * }} Manifest
 */

/**
 * An analysis that can be put beside another; `photo`: name of a file; `name`: of a model or an example, in
 * English; `names`: the same in other languages.
 * @typedef {{key: string,
 *   kind: "untrained"|"trained"|"example"|"photo"|"size"|"model"|"other"|"kept"|"operated", photo?: string,
 *   name?: string,
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
 * The subject of a line of the ledger: the whole picture, or the tokens from `first` to before `end`.
 * @typedef {"picture"|{first: number, end: number}|null} Lit
 */

/**
 * How things are drawn; `own`: fields that a panel adds.
 * @typedef {{colours: string, sight: "photograph"|"model", scale: "map"|"heads", smooth: boolean,
 *   opacity: number, grid: boolean, rulers: boolean, fromOne: boolean, opened: string,
 *   projector: boolean, [own: string]: any}} Taste
 */

/**
 * The address of a page. write: writes address and view, with `step` as a new entry of the browser's history;
 * view: the view that was written with the present entry; follow: calls `moved` when Back or Forward leads to
 * another entry. Without an entry for each step there is no follow, and perhaps no view.
 * @typedef
 *   {{read: () => string, write: (href: string, view: import("./session/history.js").Entry, step: boolean) => void,
 *   view?: () => import("./session/history.js").Entry|null, follow?: (moved: () => void) => void}} Address
 */

/**
 * @typedef {(name: string) => Promise<{STRINGS: any, GLOSSARY?: any}>} Texts  of a language ("de"), or of its
 *   lessons ("lessons-de")
 */

/**
 * A photo as this page analyzes it; id: of a photo that it keeps (state/photos.js); cropped: it is what the model
 * sees already.
 * @typedef {Partial<import("./maths/photolevels.js").Look>
 *   & {file: Blob, name: string, id?: string, cropped?: boolean}} PhotoFile
 */

/** @typedef {import("./host.d.ts").Host} Host */

export {};
