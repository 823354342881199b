/** What browsers take that TypeScript's library does not say. */

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
