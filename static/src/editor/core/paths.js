// The paths of the sample data, which complete expressions in the HTML and correct misspelled ones.

import { readObject } from "./fields.js";

const maxPaths = 2000;

// paths of the data as expressions write them from the root, with the types of their values.
export let paths = [];

// readPaths collects the paths again, unless the data is not an object.
export const readPaths = () => {
  const data = readObject("sampleData");
  if (data) paths = collectPaths(data, "", []);
};

const typeOf = (value) => {
  if (Array.isArray(value)) return "list";
  return value === null ? "null" : typeof value;
};

const collectPaths = (value, prefix, result) => {
  for (const [name, member] of Object.entries(value)) {
    const path = prefix ? `${prefix}.${name}` : name;
    result.push({ path, type: typeOf(member) });
    if (result.length > maxPaths) return result;

    const isList = Array.isArray(member);
    const first = isList ? member[0] : member;
    const isObject = first && typeof first === "object" && !Array.isArray(first);
    if (isObject) collectPaths(first, isList ? `${path}[]` : path, result);
  }
  return result;
};

// editDistance is the number of edits between two texts, after Levenshtein.
const editDistance = (a, b) => {
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

// suggestPath returns the path that a missing one is a misspelling of, or null.
export const suggestPath = (missing) => {
  let nearest = null;
  let minEdits = 4;
  for (const { path } of paths) {
    const edits = editDistance(missing, path);
    if (edits < minEdits && edits < missing.length / 2) {
      nearest = path;
      minEdits = edits;
    }
  }
  return nearest;
};

// usesOf returns where a missing path is written in the HTML: whole, or by its last part inside a block over a list.
export const usesOf = (missing, source) => {
  const lastPart = missing.replace(/^.*\[\]\.?/, "");
  const names = [...new Set([missing, lastPart])].filter((name) => name && !name.includes("["));

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
