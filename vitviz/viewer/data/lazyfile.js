/** A file that is fetched when it is first needed. */

import { fetchChecked } from "./files.js";

/**
 * Drawing calls `get`, which starts the request and returns null until the file has been read.
 * @template T
 */
export class LazyFile {
  /**
   * @param {import("../types.js").PayloadFile|undefined} file  undefined if the analysis has no such file
   * @param {(file: import("../types.js").PayloadFile, signal: AbortSignal) => Promise<ArrayBuffer>} fetchFile
   * @param {AbortSignal} signal
   * @param {(buffer: ArrayBuffer) => T|Promise<T>} read
   * @param {() => void} onProgress  something new can be drawn
   */
  constructor(file, fetchFile, signal, read, onProgress) {
    this.file = file;
    this.fetchFile = fetchFile;
    this.signal = signal;
    this.read = read;
    this.onProgress = onProgress;
    /** @type {T|null} */
    this.here = null;
    this.error = null;
    /** @type {Promise<void>|null} */
    this.pending = null;
  }

  /** Whether the analysis has this file. */
  get exists() {
    return this.file !== undefined;
  }

  /** @returns {T|null}  null while it is loading, or after a failure: see `error` */
  get() {
    if (!this.here && this.exists) this.fetch();
    return this.here;
  }

  /** Resolves when the file is here or has failed; fetches it if nobody did. */
  async fetch() {
    if (this.here || this.error) return;
    this.pending ??= this.request();
    await this.pending;
  }

  async request() {
    try {
      this.here = await this.read(await fetchChecked(this.fetchFile, this.file, this.signal));
    } catch (error) {
      if (this.signal.aborted) return;
      this.error = error;
    } finally {
      this.pending = null;
    }
    if (!this.signal.aborted) this.onProgress();
  }

  /** Forgets a failure and tries again. */
  retry() {
    this.error = null;
    this.onProgress();
  }
}
