/** Fetching a file of the payload: checked for its length, with errors a visitor can act on. */

/** `kind` is "expired" (the host deleted it), "broken" (wrong length or content) or "network". */
export class FileError extends Error {
  constructor(kind, message) {
    super(message);
    this.kind = kind;
  }
}

const GONE = [401, 403, 404, 410];

/**
 * The usual way to get a file: its `url`.
 * @param {import("../types.js").PayloadFile} file
 * @param {AbortSignal} signal
 * @returns {Promise<ArrayBuffer>}
 */
export async function fetchUrl(file, signal) {
  const response = await fetch(file.url, { signal });
  if (!response.ok) {
    throw Object.assign(new Error("status " + response.status), { status: response.status });
  }
  return response.arrayBuffer();
}

/**
 * Another way to get files: those that the host makes when somebody asks for them come as its reply.
 * @param {(file: any, signal: AbortSignal) => Promise<ArrayBuffer>} fetchFile  of all others
 * @param {null|((name: string, params: any) => Promise<any>)} ask
 * @param {string} id  of the analysis
 */
export function fetchOrAsk(fetchFile, ask, id) {
  return async (file, signal) => {
    if (!file.late) return fetchFile(file, signal);
    if (!ask) throw new Error("nobody can be asked for " + file.late);
    const { data } = await ask("late", { id, name: file.late });
    return Uint8Array.from(atob(data), (byte) => byte.charCodeAt(0)).buffer;
  };
}

/**
 * A file by its name: one of the payload, or one that the host makes when it is asked.
 * @param {import("../types.js").Manifest} manifest
 * @param {string} name
 * @returns {import("../types.js").PayloadFile|undefined}  undefined where the analysis has none
 */
export function fileOf(manifest, name) {
  return manifest.files[name] ?? (manifest.late?.includes(name) ? { path: name, late: name } : undefined);
}

/**
 * The bytes of a file, exactly as many as the manifest says; a wrong length is asked for once more.
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

async function fetchOnce(fetchFile, file, signal) {
  try {
    return await fetchFile(file, signal);
  } catch (error) {
    if (signal?.aborted || error?.name === "AbortError") throw error;
    throw new FileError(GONE.includes(error?.status) ? "expired" : "network", error.message);
  }
}

/**
 * Which of the sentences about failures fits, with its reason.
 * @param {Error} error
 * @returns {{key: string, reason: string}}  key: error_expired, error_broken or error_network
 */
export function explainFailure(error) {
  const kind = error instanceof FileError ? error.kind : "broken";
  return { key: "error_" + kind, reason: error.message };
}
