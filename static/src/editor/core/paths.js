// The paths of the sample data, which complete expressions in the HTML and correct misspelled ones.

import { readJSON } from "./fields.js";

const maxPaths = 2000;

// paths of the data as expressions write them from the root, with the types of their values.
export let paths = [];

// readPaths collects the paths again, unless the data is not an object.
export const readPaths = () => {
  const data = readJSON("sampleData");
  if (data) paths = collect(data, "", []);
};

const typeOf = (value) => {
  if (Array.isArray(value)) return "list";
  return value === null ? "null" : typeof value;
};

const collect = (value, prefix, out) => {
  for (const [name, inner] of Object.entries(value)) {
    const at = prefix ? `${prefix}.${name}` : name;
    out.push({ path: at, type: typeOf(inner) });
    if (out.length > maxPaths) return out;

    const isList = Array.isArray(inner);
    const first = isList ? inner[0] : inner;
    if (first && typeof first === "object" && !Array.isArray(first)) collect(first, isList ? `${at}[]` : at, out);
  }
  return out;
};

// distance is the number of edits between two texts, after Levenshtein.
const distance = (a, b) => {
  let row = Array.from({ length: b.length + 1 }, (_, i) => i);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      const replaced = row[j - 1] + (a[i - 1] === b[j - 1] ? 0 : 1);
      next[j] = Math.min(row[j] + 1, next[j - 1] + 1, replaced);
    }
    row = next;
  }
  return row[b.length];
};

// nearest returns the path that a missing one is a misspelling of, or null.
export const nearest = (missing) => {
  let best = null;
  let least = 4;
  for (const { path: at } of paths) {
    const d = distance(missing, at);
    if (d < least && d < missing.length / 2) {
      best = at;
      least = d;
    }
  }
  return best;
};

// usesOf returns where a missing path is written in the HTML: whole, or by its last part inside a block over a list.
export const usesOf = (missing, source) => {
  const tail = missing.replace(/^.*\[\]\.?/, "");
  const names = [...new Set([missing, tail])].filter((name) => name && !name.includes("["));

  const found = new Map();
  for (const tag of source.matchAll(/\{\{\{?[^{}]*\}?\}\}/g)) {
    for (const name of names) {
      for (const word of tag[0].matchAll(/[\w.-]+/g)) {
        if (word[0] !== name && word[0] !== `this.${name}`) continue;
        const from = tag.index + word.index;
        if (!found.has(from)) found.set(from, { from, to: from + word[0].length });
      }
    }
  }
  return [...found.values()];
};
