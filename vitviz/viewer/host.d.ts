/**
 * What the viewer is put into, and what it can ask for there. Whatever a host lacks is left out of the page.
 */
export interface Host extends Place, Link, Backends, Offers {}

type Manifest = import("./types.js").Manifest;
type PhotoFile = import("./types.js").PhotoFile;
type OwnPhoto = import("./state/photos.js").OwnPhoto;
type Intervention = import("./state/experiment.js").Intervention;

/** Where the viewer is, and what it begins with. */
interface Place {
  element: HTMLElement;
  manifest?: any;
  /** An analysis comes by itself. */
  awaited?: boolean;
  /** Some of the initial fields; invalid values are ignored. */
  selection?: any;
  /** Offers a button that changes the language of the page. */
  languages?: boolean;
  texts?: import("./types.js").Texts;
  /** What a page that was taken home has of the one it was made in: note, lesson, guesses, worksheet. */
  taken?: any;
  /** A class whose guesses the host collects. */
  room?: import("./types.js").Room | null;
}

/** The address of the page, and what the host hears of it. */
interface Link {
  /** Gives initial fields, and follows selection and taste. */
  address?: import("./types.js").Address;
  /** Asks for what the address is about; Back or Forward was pressed. */
  reopen?: () => void;
  /** Opens an address: another model or picture, for a lesson. */
  go?: (href: string) => void;
  onSelect?: (selection: any) => void;
  /** Hears what is shown, for the title of the page. */
  entitle?: (title: string) => void;
  /** Hears whether the camera's living picture is open. */
  filming?: (on: boolean) => void;
  /** Hears that a model that has learned in this page is shown, by its name, and "" when another one is. */
  adopted?: (name: string) => void;
}

/** What computes passes: the host, and weights that this page can run itself. */
interface Backends {
  /**
   * By default the file's `url`; the `status` of its error tells whether the file has expired.
   */
  fetchFile?: (file: any, signal: AbortSignal) => Promise<ArrayBuffer>;
  /**
   * A question to the host; a reply with an `error` (and the same by language in `errors`) refuses. Without
   * it the page makes late files, too.
   */
  ask?: (name: string, params: any) => Promise<any>;
  /**
   * The manifest of a second analysis: by its key in `beside` of the first manifest, and by the id of the
   * first. A photo that was sent stands for its key.
   */
  beside?: (key: string | { path: string; name: string }, id: string) => Promise<any>;
  /**
   * The manifest of the first analysis, by its id, with what is changed in its pass; the rows of a layer and
   * a token come ahead.
   */
  operate?: (
    interventions: Intervention[],
    id: string,
    first: { layer: number; token: number },
  ) => Promise<any>;
  /** Makes a page to take home of the analysis with an id; the reply has its `html`, or refuses. */
  takeHome?: (wanted: any) => Promise<any>;
  /** Addresses of the weights of models that the page can run itself, or the bytes, by their names. */
  weights?: Record<string, any>;
  /** By default fetches a file. */
  fetchWeights?: (address: any, onShare: (share: number) => void) => Promise<ArrayBuffer>;
  /** What runs the models of this page. */
  running?: () => Promise<import("./localengine.js").LocalEngine>;
  /**
   * The photo that is shown, and any analysis in the untrained twin of its model, which this page runs.
   */
  twin?: () => Promise<{ like: Manifest; photo: PhotoFile }>;
  /** The playground. */
  playing?: () => Promise<any>;
  /** The pictures that it trains with. */
  digitsOf?: (part: "train" | "test") => Promise<ArrayBuffer>;
}

/** A model by its name, the megabytes of its weights, and how the photo is shown to it. */
export interface Wide {
  name: string;
  megabytes: number;
  open: () => void;
}

/** What a visitor may do with a photo. */
interface Offers {
  /** Runs the analysis once more, when its files have expired. */
  again?: () => void;
  /** Analyzes the photo with its levels read in this way. */
  look?: (look: import("./maths/photolevels.js").Look) => void;
  /** Analyzes the photo in another size of the model's pictures, "144" or "144x192". */
  resize?: (size: string) => void;
  /** A model that knows a thousand things. */
  wide?: Wide | null;
  /** Photos of the visitor, where the host keeps them. */
  photos?: import("./state/photos.js").PhotoStore;
  /** Takes a photo to the host, which does not show it. */
  send?: (file: File) => Promise<Partial<OwnPhoto> & { name: string }>;
  /** Sends the photo that is shown to the host, which shows it then. */
  share?: (photo: OwnPhoto | null) => Promise<any>;
  /** Hears that the photo is not to be sent. */
  refused?: (photo: OwnPhoto) => void;
  /** Analyzes a drawing; the first in the model of digits. */
  draw?: (picture: Blob, name: string, first: boolean) => Promise<void>;
  /** Shows a picture of the camera as any photo is shown. */
  take?: (picture: Blob, name: string) => void;
}

/** What a host calls of a viewer that is mounted. */
export interface Mounted {
  update: (manifest: any, selection?: any) => void;
  /**
   * Shows a photo that stays in this page, in the model of a manifest; false where the host has to analyze it.
   * Rejected for what is no picture, with the sentence by language as `said`.
   */
  analyse: (template: Manifest, photo: PhotoFile) => Promise<boolean>;
  /** Whether the model that is shown has learned in this page. */
  learned: () => boolean;
  /** Shows it a photo; false and rejected as `analyse`. */
  give: (photo: PhotoFile) => Promise<boolean>;
  /** Asks whether a photo may be sent. */
  askConsent: (photo: OwnPhoto) => void;
  /** Asks whether a photo may be sent whose file only the host can open. */
  askToOpen: (photo: import("./state/photos.js").OwnPhoto) => void;
  /** What the host was asked for has come, or will not. */
  over: () => void;
  /** What Back led to will not be shown: something else was chosen before it came. */
  release: () => void;
  select: (wanted: any) => void;
  openLessons: () => void;
  openDrawing: () => void;
  openCamera: () => void;
  openPlayground: () => void;
  destroy: () => void;
}
