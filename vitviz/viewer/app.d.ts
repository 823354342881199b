/**
 * The app: what the parts of the viewer read and call. Their `render` draws from the app and from nothing else;
 * they change what is shown only by calling it and its services.
 */
export interface App extends View, Choosing {
  t: (key: string, values?: any) => string;
  language: string;
  course: import("./lessons/course.js").Course;
  second: import("./session/secondsource.js").Second;
  /** The app for the parts of the other side; null while there is none. */
  facing: () => App | null;
  pointer: Pointer;
  comparisons: Comparisons;
  teaching: Teaching;
  page: Page;
  /** Whether the photo that is shown may be sent. */
  consent: import("./session/consent.js").Consent;
  backend: import("./passes/backend.js").Backend;
  bench: import("./state/bench.js").Bench;
  sketching: import("./session/sketching.js").Sketching;
  panels: PanelDescription[];
  /** The panel that is selected. */
  panel: () => PanelDescription;
  /** The bounds of a selection in a source, by default in the first. */
  shape: (source?: Source) => Shape;
  /** The pictures of the panel Many pictures, once there are some (many/album.js). */
  album?: import("./many/sheet.js").Shown;
}

type Source = import("./data/source.js").Source;
type Selection = import("./state/state.js").Selection;
type Shape = import("./state/state.js").Shape;
type PanelDescription = import("./state/panels.js").PanelDescription;
type Manifest = import("./types.js").Manifest;
type Pair = { query: number; key: number };

/** What is shown. */
interface View {
  source: Source;
  selection: Selection;
  history: import("./state/state.js").History;
  taste: import("./types.js").Taste;
}

/** Ways to change what is shown (state/choosing.js). */
interface Choosing {
  select: (wanted: any) => void;
  /** Selects while a hand still moves: no step of the history. */
  sketch: (wanted: any) => void;
  settled: (selection: Selection) => void;
  prefer: (wanted: any) => void;
  undo: () => void;
  redo: () => void;
  /** Whether the visitor has chosen where to look. */
  hasChosen: () => boolean;
}

/** The pointer, and the tokens that are shown because of it (state/pointer.js). */
export interface Pointer {
  /** The token under the pointer. */
  pointed: number | null;
  /** A token that is shown for a while in place of the selected one. */
  previewed: number | null;
  pointedPartner: number | null;
  /** The token that was pointed at last while another one was pinned. */
  compared: number | null;
  /** The part of the picture that a line of the ledger is about. */
  lit: import("./types.js").Lit;
  /** What a click on the picture chooses in a panel of pairs: "partner" or "token". */
  pairPick: string;
  shownToken: () => number;
  shownPartner: () => number;
  pair: () => Pair;
  picksPartner: () => boolean;
  choosePick: (pick: string) => void;
  point: (token: number | null, exploring: boolean) => void;
  preview: (token: number | null) => void;
  pointPair: (cell: Pair | null) => void;
  pointPartner: (token: number | null) => void;
  /** While it is frozen, the pointer changes nothing. */
  freeze: (on: boolean) => void;
  light: (part: import("./types.js").Lit) => void;
  choose: (token: number) => void;
  pin: (token: number) => void;
  release: () => void;
  /** Resets the state of the pointer, before another analysis is drawn. */
  forget: () => void;
}

/** Analyses that stand beside the first one (session/comparisons.js). */
interface Comparisons {
  besides: () => import("./types.js").Beside[];
  manifestOf: (key: string, signal?: AbortSignal, first?: Manifest) => Promise<Manifest>;
  /** The results after an experiment that is not shown; null: nobody makes any. */
  results: any;
  /** Keeps the analysis that is shown, and puts it beside. */
  keep: () => void;
  /** Takes a photo to the host; returns its id. */
  send: null | ((file: File) => Promise<string>);
}

/** Lessons, guesses and the class (teaching/curriculum.js). */
interface Teaching {
  check: import("./lessons/check.js").Check;
  shelf: import("./lessons/shelf.js").Shelf;
  collect: (lesson: import("./lessons/own.js").OwnLesson, whole?: boolean) => void;
  guesses: ReturnType<typeof import("./state/memory.js").guessBook>;
  records: ReturnType<typeof import("./state/memory.js").recordBook>;
  /** A class that guesses together. */
  room: null | import("./types.js").Room;
  /** When the guesses of this device were made, and since when guesses count. */
  moments: import("./teaching/moments.js").Moments;
  /** The calls of the class to a step; null without a class. */
  calls: null | ReturnType<typeof import("./teaching/calls.js").createCalls>;
  /** Whether a lesson can open another model or picture. */
  travels: boolean;
  openLessons: () => void;
  /** Whether the texts of lessons are here; fetches them if not. */
  speaksLessons: () => boolean;
  /** Whether the address opens the key of a lesson. */
  forTeacher: boolean;
}

/** The page around it: language, tools, and what its host can do. */
export interface Page {
  /** Whether the page offers a button for the language. */
  languages: boolean;
  switchLanguage: () => void;
  /** The link to selection and taste; null in a page without an address. */
  link: null | (() => string);
  /** Names in the link that this page does not know. */
  unknown?: string[];
  /** Whether the link was made with a photo that this page does not have. */
  lacksPhoto?: boolean;
  tools: Record<string, boolean>;
  /** Whether the visitor has pointed or chosen yet: until then the picture says what to do. */
  moved: boolean;
  looksOpen: boolean;
  optionsOpen: boolean;
  /** The note for a page to take home, as far as it is written. */
  note: string;
  /** Runs the analysis once more. */
  again: null | (() => void);
  /** Runs it with the levels of the photo read in this way. */
  look: null | ((look: import("./maths/photolevels.js").Look) => void);
  /** Shows the photo in another size, which is `resizing` until the host has answered. */
  resize: null | ((size: string) => void);
  resizing: string;
  /** Shows a picture as any photo is shown. */
  take: null | ((file: Blob, name: string) => any);
  play: null | ((settings?: string) => Promise<void>);
  /** A model that knows a thousand things, and whether it was asked for and has not come. */
  widening: boolean;
  wide: null | import("./host.d.ts").Wide;
}
