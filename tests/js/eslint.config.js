/** The rules of eslint for the viewer: mistakes, not style. */

const browser = Object.fromEntries(
  [
    "AbortController",
    "MessageChannel",
    "Blob",
    "BroadcastChannel",
    "BigInt",
    "CSSMediaRule",
    "DOMException",
    "Event",
    "HTMLElement",
    "Image",
    "ImageData",
    "OffscreenCanvas",
    "CustomEvent",
    "FormData",
    "crypto",
    "DataTransfer",
    "MutationObserver",
    "ResizeObserver",
    "TextDecoder",
    "TextEncoder",
    "URL",
    "URLSearchParams",
    "WebAssembly",
    "Worker",
    "XMLSerializer",
    "atob",
    "btoa",
    "clearInterval",
    "clearTimeout",
    "createImageBitmap",
    "File",
    "customElements",
    "document",
    "fetch",
    "getComputedStyle",
    "history",
    "innerHeight",
    "localStorage",
    "sessionStorage",
    "indexedDB",
    "location",
    "matchMedia",
    "navigator",
    "performance",
    "requestAnimationFrame",
    "requestIdleCallback",
    "setInterval",
    "setTimeout",
    "window",
  ].map((name) => [name, "readonly"]),
);
// The globals that Gradio gives to the code of a component.
const gradio = Object.fromEntries(
  ["element", "props", "server", "trigger", "upload", "watch", "__LOAD__", "__FILES__"].map((name) => [
    name,
    "readonly",
  ]),
);
// What page.py replaces by values.
const page = Object.fromEntries(
  ["__TEXTS__", "__NAMES__", "__LANGUAGE_OF__"].map((name) => [name, "readonly"]),
);
const node = Object.fromEntries(
  [
    "AbortController",
    "Blob",
    "File",
    "Buffer",
    "DOMException",
    "TextDecoder",
    "TextEncoder",
    "URL",
    "URLSearchParams",
    "process",
    "setTimeout",
    "structuredClone",
  ].map((name) => [name, "readonly"]),
);

const mistakes = {
  "array-callback-return": "error",
  "consistent-return": "error",
  "constructor-super": "error",
  "default-case-last": "error",
  eqeqeq: "error",
  "for-direction": "error",
  "getter-return": "error",
  "no-array-constructor": "error",
  "no-async-promise-executor": "error",
  "no-case-declarations": "error",
  "no-class-assign": "error",
  "no-compare-neg-zero": "error",
  "no-cond-assign": "error",
  "no-const-assign": "error",
  "no-constant-binary-expression": "error",
  "no-constructor-return": "error",
  "no-constant-condition": ["error", { checkLoops: false }],
  "no-debugger": "error",
  "no-dupe-args": "error",
  "no-dupe-class-members": "error",
  "no-dupe-else-if": "error",
  "no-dupe-keys": "error",
  "no-duplicate-case": "error",
  "no-empty": "error",
  "no-empty-pattern": "error",
  "no-eval": "error",
  "no-ex-assign": "error",
  "no-fallthrough": "error",
  "no-func-assign": "error",
  "no-global-assign": "error",
  "no-implied-eval": "error",
  "no-import-assign": "error",
  "no-invalid-regexp": "error",
  "no-irregular-whitespace": "error",
  "no-loss-of-precision": "error",
  "no-new-func": "error",
  "no-obj-calls": "error",
  "no-redeclare": "error",
  "no-self-assign": "error",
  "no-self-compare": "error",
  "no-setter-return": "error",
  "no-shadow-restricted-names": "error",
  "no-sparse-arrays": "error",
  "no-template-curly-in-string": "error",
  "no-this-before-super": "error",
  "no-throw-literal": "error",
  "no-undef": "error",
  "no-unexpected-multiline": "error",
  "no-unmodified-loop-condition": "error",
  "no-unreachable": "error",
  "no-unreachable-loop": "error",
  "no-unsafe-finally": "error",
  "no-unsafe-negation": "error",
  "no-unsafe-optional-chaining": "error",
  "no-unused-expressions": "error",
  "no-unused-private-class-members": "error",
  "no-unused-vars": "error",
  "no-useless-catch": "error",
  "no-useless-escape": "error",
  "no-useless-return": "error",
  "no-var": "error",
  "no-with": "error",
  "prefer-const": "error",
  "require-yield": "error",
  "use-isnan": "error",
  "valid-typeof": "error",
};
// Text enters a page as text only, nothing is fetched from other servers, and a name from a link finds only
// what is in a table.
const house = {
  "no-restricted-syntax": [
    "error",
    {
      selector: "BinaryExpression[operator='in'][left.type!='Literal']",
      message: "Object.hasOwn(table, name): `in` finds constructor and __proto__ in every table",
    },
  ],
  "no-restricted-properties": [
    "error",
    ...["innerHTML", "outerHTML", "insertAdjacentHTML"].map((property) => ({ property })),
  ],
};

/** A function has one idea: it is short, and few of its variables change in functions within it. */
const MOST_STATEMENTS = 60;
const MOST_WRITTEN = 4;
// Files with a function that has more, and how many: none may grow.
const WRITTEN_MORE = {
  "learn/serving.js": 11,
  "stage/drawing.js": 9,
  "play/playground.js": 8,
  "stage/penfield.js": 7,
  "teaching/room.js": 6,
  "session/history.js": 6,
  "play/signing.js": 5,
  "session/secondsource.js": 5,
  "session/sketching.js": 5,
  "stage/livecamera.js": 5,
};
const oneIdea = {
  create: (context) => ({
    /** @param {any} node */
    ":function"(node) {
      const scope = context.sourceCode.scopeManager.acquire(node, true);
      const written = inside(scope)
        .flatMap(({ variables }) => variables)
        .filter(({ references }) =>
          references.some((found) => found.isWrite() && !found.init && found.from.variableScope !== scope),
        )
        .map(({ name }) => name);
      const file = context.filename.split("/viewer/")[1];
      if (written.length > (WRITTEN_MORE[file] ?? MOST_WRITTEN)) {
        context.report({
          node,
          message: `functions in here write ${written.length} variables: ${written.join(", ")}`,
        });
      }
    },
  }),
};
/** A scope and the blocks in it, but for those of other functions. @returns {any[]} */
const inside = (scope) => [
  scope,
  ...scope.childScopes.filter(({ variableScope }) => variableScope === scope.variableScope).flatMap(inside),
];

export default [
  { linterOptions: { reportUnusedDisableDirectives: "error" } },
  {
    files: ["vitviz/viewer/**/*.js"],
    plugins: { house: { rules: { "one-idea": oneIdea } } },
    rules: { ...mistakes, ...house, "house/one-idea": "error", "max-statements": ["error", MOST_STATEMENTS] },
    languageOptions: { globals: browser },
  },
  {
    files: ["vitviz/web/page/component.js"],
    rules: { ...mistakes, ...house, "no-unused-vars": "off" },
    languageOptions: { globals: { ...browser, ...gradio }, sourceType: "script" },
  },
  {
    files: ["vitviz/web/page/page.js"],
    rules: { ...mistakes, ...house, "no-unused-expressions": "off" },
    languageOptions: { globals: { ...browser, ...page }, sourceType: "script" },
  },
  { files: ["tests/js/*.js"], rules: mistakes, languageOptions: { globals: node } },
];
