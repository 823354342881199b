/**
 * A program for tests/test_snippets.py: reads [{manifest, files, selection, taste}] from a file, and writes
 * for each of them the code of every panel, with the numbers that the viewer itself has for the array.
 */

import { readFileSync } from "node:fs";

import { Source } from "../../vitviz/viewer/data/source.js";
import { attentionAt } from "../../vitviz/viewer/data/film.js";
import { layerFeatures } from "../../vitviz/viewer/data/features.js";
import { embeddedToken } from "../../vitviz/viewer/maths/embedding.js";
import { questionOf, shownExplainers } from "../../vitviz/viewer/state/explaining.js";
import { placeOf } from "../../vitviz/viewer/maths/geometry.js";
import { insideMap } from "../../vitviz/viewer/maths/inside.js";
import { mixOf } from "../../vitviz/viewer/maths/mixing.js";
import { pairOf } from "../../vitviz/viewer/maths/pair.js";
import { turnFor } from "../../vitviz/viewer/panels/qk/turnview.js";
import { patchValues } from "../../vitviz/viewer/maths/patch.js";
import { PANELS } from "../../vitviz/viewer/panels/index.js";
import { written } from "../../vitviz/viewer/state/experiment.js";
import { startSelection, validSelection } from "../../vitviz/viewer/state/state.js";
import { startTaste, validTaste } from "../../vitviz/viewer/state/taste.js";

/** What each panel shows, as lists of numbers. */
const SHOWN = {
  why: (selection, source) => SHOWN.attention(selection, source, { gallery: "layer" }),
  patches: ({ token }, { picture, manifest, grid, embedding }, { order, units }) => [
    token < grid.prefix
      ? embeddedToken(embedding.here, token).sum
      : patchValues(picture.here, token, manifest, grid, order)[units],
  ],
  positions: ({ token, layer }, source) => {
    const { grid, inside } = source;
    const all = [...Array(grid.rows * grid.cols).keys()].map((patch) => grid.prefix + patch);
    if (token < grid.prefix) return [all.flatMap((one) => [...source.positionMap(one)])];
    const told = inside.exists
      ? [
          Array.from({ length: inside.here.heads }, (_, head) => [
            ...insideMap(inside.here, layer, head, placeOf(token, grid), grid),
          ]).flat(),
        ]
      : [];
    return [...(source.positions.exists ? [source.positionMap(token)] : []), ...told];
  },
  attention({ token, layer, head, direction }, { maps, manifest, grid, statistics }, { gallery }) {
    if (gallery === "dots") return [statistics.here.entropy.flat(), statistics.here.distance.flat()];
    if (gallery === "all")
      return [...Array(manifest.model.depth).keys()].map((at) => maps.of(at, token, direction).rows);
    const rows = [...Array(grid.tokens).keys()].flatMap((query) => [
      ...maps.head(layer, query, "from", head),
    ]);
    return [gallery === "matrix" ? rows : maps.head(layer, token, direction, head)];
  },
  qk({ token, partner, layer, head, direction }, source) {
    const { store, maps } = source;
    const [query, key] = direction === "from" ? [token, partner] : [partner, token];
    const pair = pairOf(store.get(layer), head, query, key);
    const turn = turnFor(/** @type {any} */ ({ source, selection: { layer } }), head, query, key, pair);
    const [shown, turned] = [[pair.products, pair.attention], turn ? [turn.before, turn.after] : []];
    if (!source.mixing(layer).exists) return [...shown, ...turned];
    const { mixed, added, after } = mixOf(
      source.mixing(layer).here,
      maps.of(layer, query, "from").rows,
      head,
      query,
    );
    return [...shown, mixed, after, added, ...turned];
  },
  rollout: ({ token, layer, first, residual, fusion }, { relevance }) => [
    relevance.of({ token, layer, first, residual, fusion }),
  ],
  explain: (selection, source) =>
    shownExplainers(selection, source).map(
      (one) => source.explanations.of(questionOf(selection, source, one)).here.values,
    ),
  features({ token, layer }, { features, manifest }, { painted }) {
    const summary = /** @type {any} */ (features.summary(painted === "normed"));
    const { colours, norms } = layerFeatures(summary, layer, manifest);
    return [colours, features.similarity(layer, token), norms];
  },
  predictions: (selection, { manifest }) => [
    manifest.pass.predictions.map(({ probability, logit }) => probability ?? logit),
    ...(manifest.pass.lens.length > 0
      ? [manifest.pass.lens.flatMap(({ probabilities }) => probabilities)]
      : []),
  ],
  training: ({ moment, layer, head }, { film: { here } }) => [
    here.names.flatMap((_, at) => [
      ...attentionAt(
        here,
        moment === "last" ? here.moments.length - 1 : moment,
        at,
        Math.min(layer, here.layers - 1),
        head,
      ),
    ]),
  ],
  many: (selection, { statistics }) => [statistics.here.distance.flat()], // of one picture
  model: (selection, { manifest }) => [[manifest.model.num_parameters]],
  experiment: (selection, { manifest }) => [manifest.pass.predictions.map(({ probability }) => probability)],
};

/** Asks again and again for everything that is fetched on demand, until it is here. */
async function opened({ manifest, files, selection: wanted }, layer, token) {
  const buffers = Object.fromEntries(
    Object.entries(files).map(([path, text]) => [path, Uint8Array.from(Buffer.from(text, "base64")).buffer]),
  );
  return new Promise((resolve, reject) => {
    const source = new Source(
      manifest,
      async ({ path }) => buffers[path],
      null,
      () => look(),
    );
    const explained = () =>
      shownExplainers({ maps: "", ...wanted }, source).map((one) =>
        source.explanations.of(questionOf({ target: "answer", ...wanted }, source, one)),
      );
    const lazy = () => [
      ...explained(),
      source.embedding,
      source.film,
      source.statistics,
      source.positions,
      source.inside,
      source.mixing(layer),
    ];
    const fusions = ["mean", "max", "min"];
    function look() {
      const rolled = fusions.map((fusion) =>
        source.relevance.of({ token, layer, first: 0, residual: 0.5, fusion }),
      );
      const failed = [...lazy(), source.features, source.relevance].find(({ error }) => error);
      if (failed) reject(failed.error);
      const here = lazy().map((file) => !file.exists || file.get());
      const summaries = [source.features.summary(), source.features.summary(true)].every(Boolean);
      const features = summaries && source.features.similarity(layer, token);
      if ([...here, features, ...rolled].every(Boolean)) resolve(source);
    }
    const layers = Array.from({ length: manifest.model.depth }, (_, at) => source.store.ensure(at));
    Promise.all([source.loaded(false), ...layers]).then(look, reject);
  });
}

const answers = [];
for (const one of JSON.parse(readFileSync(process.argv[2], "utf8"))) {
  const source = await opened(one, one.selection.layer, one.selection.token);
  const shape = { ...source.shape, panels: PANELS, besides: [] };
  const selection = validSelection(
    { ...one.selection, experiment: written(one.manifest.pass.changes) },
    startSelection(shape),
    shape,
  );
  const taste = validTaste(one.taste, startTaste(PANELS), PANELS);
  answers.push(
    PANELS.map((panel) => {
      const code = panel.code(selection, source, taste);
      const shown = code && SHOWN[panel.id](selection, source, taste).map((values) => Array.from(values));
      return { panel: panel.id, code, shown };
    }),
  );
}
process.stdout.write(JSON.stringify(answers));
