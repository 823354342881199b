/** Types that several modules share; nothing in here runs. */

/**
 * A file of the payload, as the manifest names it.
 * @typedef {{path: string, size?: number, url?: string}} PayloadFile
 */

/**
 * What describes an analysis: vitviz/viewer/payload.py writes it, and hosts may add to it.
 * @typedef {{
 *   version: number, id: string, link?: Record<string, string>,
 *   model: any, photo: {name: string, notes: string[]}, korean: Record<string, string>,
 *   image: {height: number, width: number, channels: number}, mean: number[], std: number[],
 *   grid: {rows: number, cols: number, patch_height: number, patch_width: number},
 *   prefix_tokens: string[], depth: number, num_heads: number, head_dim: number, embed_dim: number,
 *   num_tokens: number, scale: number, steps: any[],
 *   predictions: any[], attention_error: number, outlier_times: number,
 *   heads: any, pool?: any, num_classes?: number, embedding_norms?: any, lens?: any, groups?: any, answer?: any,
 *   files: {picture: PayloadFile, layers: PayloadFile[], features: PayloadFile,
 *     tokens: PayloadFile[], [name: string]: any},
 * }} Manifest
 */

/** @typedef {typeof import("./state.js").START_TASTE} Taste */

export {};
