/** What browsers take that TypeScript's library does not say. */

declare module "node:fs" {
  /** Under Node, where `text/strings.js` reads the dictionaries itself. */
  export function readFileSync(path: URL, encoding: "utf8"): string;
  export function existsSync(path: any): boolean;
  export function readdirSync(
    path: URL,
    options: { withFileTypes: true },
  ): { name: string; isDirectory: () => boolean }[];
}

interface CSSStyleDeclaration {
  /** Numbers are written out. */
  setProperty(property: string, value: string | number | null, priority?: string): void;
}

/** The viewer makes HTML elements only, so what it finds among them is one. */
interface Element {
  focus(options?: FocusOptions): void;
  hidden: any;
  setAttribute(name: string, value: string | number): void;
  tabIndex: number;
}

/** Left by the document of the app: who somebody is in a class (web/page/room.js), and the first manifest. */
interface Window {
  vitvizRoom?: Pick<import("../../vitviz/viewer/types.js").Room, "teacher" | "voter" | "answered">;
  vitvizFirst?: any;
}
