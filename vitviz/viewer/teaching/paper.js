/** Paper: an HTML file for A4, opened in a tab of its own, where it can be printed and saved. */

import { el } from "../parts/dom.js";
import { openInTab } from "../parts/download.js";

/**
 * For A4 paper, in black and white too: colour alone never carries information. Without child selectors,
 * which XML would escape.
 */
const STYLE = `
@page {
  size: A4;
  margin: 16mm;
}
body {
  max-width: 178mm;
  margin: 0 auto;
  padding: 8mm 0;
  color: #000;
  background: #fff;
  font:
    11pt/1.45 system-ui,
    "Apple SD Gothic Neo",
    "Malgun Gothic",
    "Noto Sans KR",
    "Noto Sans CJK KR",
    sans-serif;
  word-break: keep-all;
  overflow-wrap: break-word;
}
@media print {
  body {
    padding: 0;
  }
}
h1 {
  margin: 0 0 2mm;
  font-size: 17pt;
}
.about {
  margin: 0 0 6mm;
  color: #444;
  font-size: 9.5pt;
}
.last {
  break-inside: avoid;
}
section {
  break-inside: avoid;
  margin: 0 0 4mm;
  padding-top: 2mm;
  border-top: 0.4mm solid #000;
}
.step {
  display: flex;
  gap: 6mm;
}
.words {
  flex: 1;
  min-width: 0;
}
pre {
  margin: 0 0 2mm;
  font: 9pt/1.4 ui-monospace, Consolas, monospace;
  white-space: pre-wrap;
}
p {
  margin: 0 0 2mm;
}
h2 {
  margin: 0 0 2mm;
  font-size: 12pt;
}
.question {
  font-weight: 700;
}
.line {
  border-bottom: 0.3mm solid #000;
  height: 9mm;
  width: 60%;
}
.wide {
  width: 100%;
}
.slip {
  padding-left: 3mm;
  border-left: 1mm solid #000;
}
.option::before {
  content: "☐ ";
}
.who {
  display: flex;
  gap: 6mm;
  margin: 0 0 4mm;
}
.who span {
  flex: 1;
  border-bottom: 0.3mm solid #000;
}
.who span + span {
  flex: none;
  width: 36mm;
}
.because {
  margin-top: 4mm;
  border-bottom: 0.3mm solid #000;
  color: #444;
}
.key section {
  margin: 0 0 2mm;
}
.key p {
  margin: 0 0 1mm;
}
table {
  width: 100%;
  border-collapse: collapse;
  break-inside: avoid;
}
td,
th {
  height: 7mm;
  padding: 0 2mm;
  border: 0.3mm solid #000;
  font-size: 9.5pt;
  text-align: left;
}
td {
  width: 28%;
}
td:first-child {
  width: 16%;
}
.numbers {
  margin: 0 0 2mm;
}
.numbers td,
.numbers td:first-child {
  width: auto;
  height: 5mm;
  padding: 0 0.5mm;
  border-width: 0.1mm;
  font-size: 7.5pt;
  text-align: right;
}
.numbers tr:nth-child(3n) td {
  border-bottom-width: 0.5mm;
  height: 6mm;
}
.plan td,
.plan td:first-child {
  width: auto;
  padding: 1.5mm 2mm;
}
.plan td:nth-child(3) {
  width: 34%;
}
.plan tr:last-child {
  font-weight: 700;
}
.sheet {
  flex: none;
  position: relative;
  width: 52mm;
  align-self: flex-start;
  margin: 5mm 0 1mm 5mm;
}
.marked {
  width: 78mm;
}
.sheet img {
  display: block;
  width: 100%;
  image-rendering: pixelated;
}
.sheet b,
.sheet i {
  position: absolute;
  box-sizing: border-box;
}
.sheet i {
  font: 7pt sans-serif;
  font-style: normal;
  text-align: center;
}
.sheet .cell {
  border: 0.1mm solid rgb(128 128 128 / 0.7);
}
.sheet .token {
  border: 1mm solid #000;
  outline: 0.5mm solid #fff;
}
.sheet .mark {
  border: 0.5mm solid #000;
  background: #fff;
  font: 700 9pt sans-serif;
  display: grid;
  place-items: center;
}
.sheet .gone {
  border: 0.1mm solid #fff;
  background: #6f7378;
  color: #fff;
  font: 700 8pt/1 sans-serif;
  display: grid;
  place-items: center;
  print-color-adjust: exact;
}
.sheet .changed {
  border: 0.5mm solid #000;
  outline: 0.3mm solid #fff;
}
.sheet .truth {
  border: 0.8mm dashed #000;
  outline: 0.5mm solid #fff;
  background: rgb(255 255 255 / 0.45);
}
`;

/**
 * @param {string} language
 * @param {string} title
 * @param {(Node|null)[]} nodes  under the title
 * @param {string} [kind]  a class of the body
 * @returns {string}
 */
export function paper(language, title, nodes, kind = "") {
  const file = document.implementation.createHTMLDocument(title);
  file.documentElement.lang = language;
  file.head.append(el("meta", { charset: "utf-8" }), el("style", { text: STYLE }));
  file.body.className = kind;
  file.body.append(el("h1", { text: title }), ...nodes.filter(Boolean));
  return new XMLSerializer().serializeToString(file);
}

/** @param {string} html */
export const openPaper = (html) => openInTab(new Blob([html], { type: "text/html;charset=utf-8" }));
