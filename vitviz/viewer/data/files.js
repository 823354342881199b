/** Fetches a file of the payload and checks its length; errors say what a visitor can do. */

/**
 * `kind` is "expired" (the host deleted it), "left_out" (of a page that was made without it), "no_host"
 * (nobody here can make it), "broken" (wrong length or content) or "network".
 */
export class FileError extends Error {
  constructor(kind, message) {
    super(message);
    this.kind = kind;
  }
}

/** Prefix for the id of an analysis that was made in this page: its host does not know it. */
export const HERE = "here-";

const KINDS = { "left out": "left_out", "no host": "no_host" };
const GONE = [401, 403, 404, 410];

/**
 * Whether no server answered, which `fetch` says in the browser's English.
 * @param {any} error
 */
export const isUnanswered = (error) =>
  error?.unanswered === true ||
  error?.kind === "network" ||
  error?.status >= 500 ||
  (error instanceof TypeError && /^(Failed to fetch|Load failed|NetworkError)/.test(error.message));

/** Whether the host has deleted what was asked for. @param {any} error */
export const isGone = (error) => error?.expired === true || GONE.includes(error?.status);

/**
 * Fetches a file from its `url`, unless it came with the manifest: the default.
 * @param {import("../types.js").PayloadFile} file
 * @param {AbortSignal} signal
 * @returns {Promise<ArrayBuffer>}
 */
export async function fetchUrl(file, signal) {
  if (file.data !== undefined) return ofBase64(file.data);
  const response = await fetch(file.url, { signal });
  if (!response.ok) {
    throw Object.assign(new Error("status " + response.status), { status: response.status });
  }
  return response.arrayBuffer();
}

/**
 * A `fetchFile` that asks the host for the files that it makes on demand, and fetches all others.
 * @param {(file: any, signal: AbortSignal) => Promise<ArrayBuffer>} fetchFile  of all others
 * @param {null|((name: string, params: any, told?: (share: number) => void) => Promise<any>)} ask
 * @param {import("../types.js").Asked} asked  the pass
 */
export function fetchOrAsk(fetchFile, ask, asked) {
  return async (file, signal) => {
    if (!file.late) return fetchFile(file, signal);
    if (!ask) throw notHere(file.name);
    const { name, other } = file;
    const question = { ...(file.asked ?? asked), name, ...(other ? { other } : {}) };
    const { data, buffer } = await ask("late", question, (share) => {
      file.share = share;
    });
    file.there = !buffer; // the host made it
    return buffer ?? ofBase64(data);
  };
}

/** The error for a file that only a host could make, on a page without one. @param {string} name */
export const notHere = (name) => Object.assign(new Error(name), { status: "no host" });

/** @param {string} text @returns {ArrayBuffer} */
export function ofBase64(text) {
  const fast = /** @type {any} */ (Uint8Array).fromBase64; // new, and a hundred times as fast
  return fast ? fast(text).buffer : Uint8Array.from(atob(text), (byte) => byte.charCodeAt(0)).buffer;
}

/**
 * Fetches a file; `onShare` is called with the share received so far.
 * @param {string} address
 * @param {(share: number) => void} onShare
 * @returns {Promise<ArrayBuffer>}
 */
export async function fetchWithShare(address, onShare) {
  const answer = await fetch(address);
  if (!answer.ok || !answer.body)
    throw Object.assign(new Error("status " + answer.status), { status: answer.status });
  const size = Number(answer.headers.get("content-length"));
  const parts = [];
  let length = 0;
  const reader = answer.body.getReader();
  for (let step = await reader.read(); !step.done; step = await reader.read()) {
    parts.push(step.value);
    length += step.value.length;
    if (size > 0) onShare(Math.min(1, length / size));
  }
  return new Blob(parts).arrayBuffer();
}

/**
 * A file by its name: one of the payload, or one that the host makes on demand.
 * @param {import("../types.js").Manifest} manifest
 * @param {string} name
 * @returns {import("../types.js").PayloadFile|undefined}  undefined if the analysis has no such file
 */
export function fileOf(manifest, name) {
  const file = manifest.files[name];
  return file?.late ? { ...file, name } : file;
}

/**
 * The bytes of a file, exactly as many as the manifest says; after a wrong length it is fetched once more.
 * @param {(file: any, signal: AbortSignal) => Promise<ArrayBuffer>} fetchFile
 * @param {{size?: number}} file
 * @param {AbortSignal} signal
 * @returns {Promise<ArrayBuffer>}
 */
export async function fetchChecked(fetchFile, file, signal) {
  let got = 0;
  for (let attempt = 0; attempt < 2; attempt++) {
    const buffer = await fetchOnce(fetchFile, file, signal);
    if (typeof file.size !== "number" || buffer.byteLength === file.size) return buffer;
    got = buffer.byteLength;
  }
  throw new FileError("broken", "expected " + file.size + " bytes, got " + got);
}

/**
 * Fetches a file; one that this page makes (`make`) is never fetched, even if making it fails. Failures
 * become a `FileError`, except an abort.
 */
async function fetchOnce(fetchFile, file, signal) {
  try {
    return await (file.make ? file.make(signal) : fetchFile(file, signal));
  } catch (error) {
    if (signal?.aborted || error?.name === "AbortError") throw error;
    const failed = file.make && !error?.modelLost ? "made" : "network";
    const kind = KINDS[error?.status] ?? (isGone(error) ? "expired" : failed);
    throw Object.assign(new FileError(kind, error.message), { cause: error });
  }
}

/**
 * The key of the sentence about a failure, with the reason to insert.
 * @typedef {{key: string, reason: string, reasons: Record<string, string>|null}} Failure
 *   key: error_expired, error_left_out, error_no_host, error_broken, error_made (this page could not make the
 *   file) or error_network; reasons: the host's own, by language
 * @param {any} error
 * @returns {Failure}
 */
export function explainFailure(error) {
  const kind = error instanceof FileError ? error.kind : "broken";
  return { key: "error_" + kind, reason: error.message, reasons: error.cause?.reasons ?? null };
}
