// The template editor. The page works without it: three fields and buttons. With
// it the fields become editors, the draft saves itself, and the pages come by
// themselves from the engine that calls use.

import { EditorState, StateEffect } from "@codemirror/state";
import { EditorView, keymap } from "@codemirror/view";
import { indentWithTab, invertedEffects, isolateHistory, undo } from "@codemirror/commands";
import { foldGutter, foldKeymap } from "@codemirror/language";
import { autocompletion } from "@codemirror/autocomplete";
import { lintGutter, setDiagnostics } from "@codemirror/lint";
import { html, htmlCompletionSource } from "@codemirror/lang-html";
import { json, jsonParseLinter } from "@codemirror/lang-json";
import { sourcesOf } from "./accessible.js";
import { codeField, mustaches } from "./code.js";
import { describes } from "./describe.js";
import { framesIn } from "./frame.js";
import { indent, members } from "./json.js";
import { originOf, paperOf, paperText } from "./paper.js";
import { lineAt, placeOf } from "./places.js";

const main = document.querySelector("[data-editor]");
const nonce = document.querySelector("script[data-editor-script]")?.nonce ?? "";
const readOnly = main.hasAttribute("data-readonly");
const { path } = main.dataset;
// In a frame of another site there is no session and no cookie: the path says who
// asks and what they may. The page around is told what happens, and no other is.
const embedded = "embedded" in main.dataset, sees = !("unseen" in main.dataset);
const tell = (type, more = {}) => {
  if (embedded && parent !== window) parent.postMessage({ source: "relaypdf", type, templateId: main.dataset.template, ...more }, main.dataset.origin);
};
const $ = (selector, scope = document) => scope.querySelector(selector);
const $$ = (selector, scope = document) => [...scope.querySelectorAll(selector)];
const words = (text) => (text ?? "").split(" ").filter(Boolean);
const element = (name, attributes = {}, ...children) => {
  const made = Object.assign(document.createElement(name), attributes);
  made.append(...children);
  return made;
};
const kept = (key) => { try { return JSON.parse(localStorage.getItem(key)); } catch { return null; } };
const keep = (key, value) => {
  try { value === null ? localStorage.removeItem(key) : localStorage.setItem(key, JSON.stringify(value)); } catch { /* storage is off or full */ }
};

// ——— The fields become editors.

const full = EditorView.theme({ "&": { height: "100%" } });
const common = (label, fixed) => [
  codeField({ nonce, attributes: () => ({ "aria-label": label, tabindex: "0" }), keys: [
    { key: "Mod-s", preventDefault: true, run: () => { save(); return true; } },
    { key: "Mod-Enter", preventDefault: true, run: () => { preview(); return true; } },
    { key: "Alt-Enter", preventDefault: true, run: () => { findOnPage(); return true; } },
    { key: "Shift-Alt-f", preventDefault: true, run: () => { format(); return true; } },
  ] }),
  full, foldGutter({ openText: "▾", closedText: "▸" }), lintGutter(), EditorState.readOnly.of(fixed),
  keymap.of([...foldKeymap, { key: "Escape", run: (view) => { view.contentDOM.blur(); return true; } }, indentWithTab]),
];

const field = (name) => $(`textarea[name="${name}"]`);
const fields = ["html", "sampleData", "options"];
const fixed = Object.fromEntries(fields.map((name) => [name, field(name).readOnly]));
// What is sent: all, or in a frame what may be changed there.
const sent = fields.filter((name) => !embedded || !fixed[name]);
const replaceField = (name, extensions) => {
  const area = field(name);
  const view = new EditorView({
    parent: area.parentElement,
    state: EditorState.create({ doc: area.value, extensions: [common(area.getAttribute("aria-label"), fixed[name]), extensions, EditorView.updateListener.of((change) => { if (change.docChanged) changed(name); })] }),
  });
  area.hidden = true;
  return view;
};

const templateSource = () => [html({ autoCloseTags: true }), mustaches, together, autocompletion({ override: [completeMustache, htmlCompletionSource], icons: false })];
const views = {};
const text = (name) => views[name].state.doc.toString();
const setText = (name, value) => {
  if (text(name) !== value) views[name].dispatch({ changes: { from: 0, to: views[name].state.doc.length, insert: value } });
};

// What replaces several fields is one step of the HTML's history, which takes the
// others along, back and forth.
const swapped = StateEffect.define();
const together = [
  invertedEffects.of((step) => step.effects.filter((effect) => effect.is(swapped)).map(({ value }) => swapped.of({ from: value.to, to: value.from }))),
  EditorView.updateListener.of(({ transactions }) => {
    for (const step of transactions.filter((one) => one.isUserEvent("undo") || one.isUserEvent("redo"))) {
      for (const effect of step.effects) if (effect.is(swapped)) for (const [name, value] of Object.entries(effect.value.to)) setText(name, value);
    }
  }),
];
const put = (fields) => {
  const { html: source, ...to } = fields;
  const from = Object.fromEntries(Object.keys(to).map((name) => [name, text(name)]));
  const { doc } = views.html.state;
  views.html.dispatch({ changes: { from: 0, to: doc.length, insert: source }, effects: swapped.of({ from, to }), selection: { anchor: 0 }, annotations: isolateHistory.of("full") });
  for (const [name, value] of Object.entries(to)) setText(name, value);
};

// offerUndo says what has replaced the fields, and takes it back on request.
const offerUndo = (words, before, after) => {
  $("[data-undo]")?.remove();
  const box = element("div", { className: "toasts" });
  box.dataset.undo = "";
  const back = element("button", { className: "btn small", type: "button", textContent: "Undo" }), stay = element("button", { className: "btn small", type: "button", textContent: "Keep" });
  back.addEventListener("click", () => { box.remove(); if (text("html") === after) undo(views.html); else put(before); views.html.focus(); });
  stay.addEventListener("click", () => { box.remove(); views.html.focus(); });
  box.append(element("div", { className: "toast", role: "status" }, words, back, stay));
  document.body.append(box);
  back.focus();
};

// ——— The data's paths: to complete, and to find what is meant.

let paths = []; // [{ path, type }], as they are written from the root
const typeOf = (value) => Array.isArray(value) ? "list" : value === null ? "null" : typeof value;
const collect = (value, prefix, out) => {
  for (const [name, inner] of Object.entries(value)) {
    const at = prefix ? `${prefix}.${name}` : name;
    out.push({ path: at, type: typeOf(inner) });
    if (out.length > 2000) return out;
    const first = Array.isArray(inner) ? inner[0] : inner;
    if (first && typeof first === "object" && !Array.isArray(first)) collect(first, Array.isArray(inner) ? `${at}[]` : at, out);
  }
  return out;
};

const completeMustache = (context) => {
  const before = context.state.sliceDoc(Math.max(0, context.pos - 200), context.pos);
  const open = before.lastIndexOf("{{");
  if (open < 0 || before.indexOf("}}", open) >= 0) return null;
  const inside = before.slice(open);
  const word = /[\w.@/[\]-]*$/.exec(inside)[0];
  if (!word && !context.explicit && !/[{#/^>(]$|\s$/.test(inside)) return null;
  const from = context.pos - word.length;
  if (/\{\{\s*>\s*[\w-]*$/.test(inside)) return { from, options: words(main.dataset.partials).map((label) => ({ label, detail: "partial" })) };
  const options = [];
  for (const { path: at, type } of paths) {
    options.push({ label: at.replace(/^.*\[\]\./, ""), detail: at.includes("[]") ? `${type} of ${at.replace(/\[\]\.[^[]*$/, "")}` : type, boost: at.includes("[]") ? 0 : 1 });
  }
  for (const label of words(main.dataset.helpers)) options.push({ label, detail: "helper", boost: -1 });
  const seen = new Set();
  return { from, options: options.filter(({ label }) => !seen.has(label) && seen.add(label)), validFor: /^[\w.@/[\]-]*$/ };
};

const distance = (a, b) => {
  let row = Array.from({ length: b.length + 1 }, (_, i) => i);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) next[j] = Math.min(row[j] + 1, next[j - 1] + 1, row[j - 1] + (a[i - 1] === b[j - 1] ? 0 : 1));
    row = next;
  }
  return row[b.length];
};
const nearest = (missing) => {
  let best = null, least = 4;
  for (const { path: at } of paths) {
    const d = distance(missing, at);
    if (d < least && d < missing.length / 2) [best, least] = [at, d];
  }
  return best;
};

// places finds where a missing path is written: whole, or by its last part inside
// a block over a list.
const places = (source, missing) => {
  const tail = missing.replace(/^.*\[\]\.?/, "");
  const found = [];
  for (const tag of source.matchAll(/\{\{\{?[^{}]*\}?\}\}/g)) {
    for (const name of new Set([missing, tail])) {
      if (!name || name.includes("[")) continue;
      for (const word of tag[0].matchAll(/[\w.-]+/g)) {
        if (word[0] === name || word[0] === `this.${name}`) found.push({ from: tag.index + word.index, to: tag.index + word.index + word[0].length });
      }
    }
  }
  return found.filter((place, i) => found.findIndex((other) => other.from === place.from) === i);
};

// ——— What is wrong.

const problems = $("[data-problems]");
let faults = 0;
const cursorShows = (view) => {
  const at = view.coordsAtPos(view.state.selection.main.head), seen = view.scrollDOM.getBoundingClientRect();
  return at && at.top >= seen.top && at.bottom <= seen.bottom;
};
const problem = ({ kind, parts, line, where = `Line ${line}`, go }) => {
  const item = element("li"), sign = element("span", { className: "status" }, element("span", { className: "vh", textContent: kind === "w" ? "Warning" : "Error" }));
  sign.dataset.is = kind === "w" ? "warn" : "bad";
  item.append(sign);
  const said = element("span");
  said.append(...parts);
  item.append(said);
  if (go) {
    const link = element("a", { href: "#html", textContent: where });
    link.addEventListener("click", (event) => { event.preventDefault(); go(); });
    item.append(link);
  }
  return item;
};
// The list takes its room from the text: what is being written stays in sight.
const showProblems = (list) => {
  const written = Object.values(views).find((view) => view.hasFocus && cursorShows(view));
  problems.replaceChildren(...list.slice(0, 6).map(problem));
  if (list.length > 6) problems.append(element("li", { className: "faint", textContent: `and ${list.length - 6} more` }));
  if (written && !cursorShows(written)) written.dispatch({ effects: EditorView.scrollIntoView(written.state.selection.main.head) });
};
const goTo = (from) => {
  showFile("html");
  views.html.dispatch({ selection: { anchor: from }, effects: EditorView.scrollIntoView(from, { y: "center" }) });
  views.html.focus();
};
const code = (value) => element("code", { textContent: value });

// showVariables lists what the template uses. A template with an error has no list of its own: the last one stays.
const showVariables = ({ errors = [], missing = [], variables = [] }, line) => {
  const used = $('[data-pane="paths"]');
  $("p", used)?.remove();
  if (errors.length && !variables.length) {
    const since = line ? `since the error in line ${line}` : "since the error";
    used.prepend(element("p", { className: "muted", role: "status", textContent: $("ul", used) ? `Not updated ${since}.` : "Variables appear when the template has no errors." }));
  } else if (!variables.length) {
    used.replaceChildren(element("p", { className: "muted", textContent: "The template uses no variables." }));
  } else {
    const typeOfPath = (name) => missing.includes(name) ? "missing" : paths.find(({ path: at }) => at === name)?.type ?? "in the data";
    used.replaceChildren(element("ul", { className: "leaders" }, ...variables.map((name) => element("li", {}, code(name), element("span", { textContent: typeOfPath(name) })))));
  }
};

const showChecked = (checked, source) => {
  const doc = views.html.state.doc;
  const marks = [], list = [];
  for (const fault of checked.errors ?? []) {
    const at = doc.line(Math.min(Math.max(fault.line ?? 1, 1), doc.lines));
    const from = Math.min(at.from + Math.max((fault.column ?? 1) - 1, 0), at.to);
    const where = fault.partial ? ` (in the partial ${fault.partial})` : "";
    marks.push({ from, to: Math.max(from, Math.min(at.to, from + 1)), severity: "error", message: fault.message + where });
    list.push({ kind: "e", parts: [fault.message + where], line: at.number, go: fault.line && !fault.partial ? () => goTo(from) : null });
  }
  faults = list.length;
  for (const missing of checked.missing ?? []) {
    const near = nearest(missing);
    const found = places(source, missing);
    const fault = near === missing ? " is not in all of the data." : " is not in the data.";
    const meant = near !== missing && near;
    const message = missing + fault + (meant ? ` Did you mean ${meant}?` : "");
    for (const { from, to } of found) marks.push({ from, to, severity: "warning", message });
    const parts = [code(missing), fault + (meant ? " Did you mean " : "")];
    if (meant) parts.push(code(meant), "?");
    list.push({ kind: "w", parts, line: found[0] ? doc.lineAt(found[0].from).number : 0, go: found[0] ? () => goTo(found[0].from) : null });
  }
  if (text("html") === source) views.html.dispatch(setDiagnostics(views.html.state, marks.filter(({ to }) => to <= doc.length).sort((a, b) => a.from - b.from)));
  showProblems(list);
  showVariables(checked, list[0]?.line);
};

const valid = $("[data-valid]");
const status = (is, said) => {
  const mark = element("span", { className: "status", textContent: said });
  mark.dataset.is = is;
  valid.replaceChildren(mark);
};
const objectOf = (name) => {
  const value = JSON.parse(text(name));
  if (typeof value !== "object" || value === null || Array.isArray(value)) throw new Error("must be a JSON object");
  return value;
};
// readJSON returns what stands in a field as an object, or null where it is none.
const readJSON = (name) => { try { return objectOf(name); } catch { return null; } };
const checkJSON = () => {
  let fine = true;
  for (const name of ["sampleData", "options"]) {
    const view = views[name];
    let marks = jsonParseLinter()(view);
    if (!marks.length && !readJSON(name)) marks = [{ from: 0, to: view.state.doc.length, severity: "error", message: "must be a JSON object" }];
    view.dispatch(setDiagnostics(view.state, marks));
    if (marks.length && fine) {
      fine = false;
      status("bad", `${name === "options" ? "Options" : "Data"}, line ${view.state.doc.lineAt(marks[0].from).number}`);
    }
  }
  if (fine) status("ok", "Valid");
  return fine;
};

// ——— Talking to the server.

class SignedOut extends Error {}
const ask = async (below, { method = "POST", body, headers = {}, signal } = {}) => {
  const answer = await fetch(path + below, { method, body, headers: { ...(body ? { "Content-Type": "application/json" } : {}), ...headers }, signal });
  if (answer.redirected || answer.status === 401 || (embedded && [404, 410].includes(answer.status))) throw new SignedOut("signed out");
  return answer;
};
// The texts go as they stand: numbers keep every digit.
const bodyOf = (names) => `{${names.map((name) => `"${name}":${name === "html" ? JSON.stringify(text(name)) : text(name)}`).join(",")}}`;
const draft = () => bodyOf(sent);
const messageOf = async (answer) => {
  try { return (await answer.json()).error; } catch { return { message: `The server returned status ${answer.status}.`, details: [] }; }
};

// ——— Saving.

const saved = $("[data-saved]");
const localKey = `draft:${main.dataset.embedded ?? main.dataset.template}`;
let etag = main.dataset.etag, savedAt = null, dirty = false, saving = null, conflict = false, saveTimer = 0;
const say = (words) => { saved.textContent = words; };
const ago = () => {
  if (!savedAt || dirty) return;
  const seconds = Math.round((Date.now() - savedAt) / 1000);
  say(seconds < 1 ? "Saved" : seconds < 60 ? `Saved ${seconds} s ago` : `Saved ${Math.round(seconds / 60)} min ago`);
};
setInterval(ago, 1000);

const everything = () => ({ etag, html: text("html"), sampleData: text("sampleData"), options: text("options"), at: Date.now() });
const save = async () => {
  clearTimeout(saveTimer);
  if (readOnly || conflict) return false;
  if (saving) { await saving; return dirty ? save() : true; }
  if (!dirty) return true;
  if (!text("html")) { say("Not saved: the HTML is empty"); return false; }
  if (!checkJSON()) { say("Not saved: the JSON is not valid"); return false; }
  saving = (async () => {
    const body = draft();
    say("Saving…");
    try {
      const answer = await ask("/draft", { body, headers: { "If-Match": etag } });
      if (answer.status === 412) { await showConflict(); return false; }
      if (!answer.ok) { say(`Not saved: ${(await messageOf(answer)).message}`); return false; }
      etag = answer.headers.get("ETag");
      savedAt = Date.now();
      dirty = draft() !== body;
      $("[data-draft]").hidden = false;
      tell("saved");
      if (!dirty) { keep(localKey, null); ago(); }
      return true;
    } catch (error) {
      if (error instanceof SignedOut) signedOut();
      else { say("Not saved: no connection. Retrying…"); saveTimer = setTimeout(save, 5000); }
      return false;
    }
  })();
  const done = await saving;
  saving = null;
  if (done && dirty) saveTimer = setTimeout(save, 1500);
  return done;
};

const signedOut = () => {
  keep(localKey, everything());
  if (embedded) return say("This editor session has ended. Changes are no longer saved. Open the editor again.");
  const link = element("a", { href: `/login?next=${encodeURIComponent(path)}`, textContent: "log in" });
  saved.replaceChildren("You are logged out. Your changes are stored in this browser. To continue, ", link, ".");
};

// ——— Two tabs, one template.

const dialog = $("#conflict");
const showConflict = async () => {
  conflict = true;
  say("Not saved: changed in another tab");
  const answer = await ask("/compare", { body: JSON.stringify({ html: text("html"), sampleData: text("sampleData"), options: text("options") }) });
  if (!answer.ok) return;
  dialog.dataset.etag = answer.headers.get("ETag");
  $("[data-diffs]", dialog).replaceChildren(...new DOMParser().parseFromString(await answer.text(), "text/html").body.childNodes);
  if (!dialog.open) dialog.showModal();
};
const settle = {
  later() { say("Not saved: changed in another tab"); saved.append(" "); const again = element("button", { className: "btn small", type: "button", textContent: "Resolve conflict" }); again.addEventListener("click", showConflict); saved.append(again); },
  mine() { etag = dialog.dataset.etag; conflict = false; dirty = true; save(); },
  async theirs() {
    const answer = await ask("/draft", { method: "GET" });
    if (!answer.ok) return;
    const body = await answer.text(), stored = JSON.parse(body);
    etag = answer.headers.get("ETag");
    setText("html", stored.html);
    const own = members(body); // as text: numbers keep every digit
    setText("sampleData", indent(own.sampleData));
    setText("options", indent(own.options));
    conflict = false; dirty = false; savedAt = Date.parse(stored.updatedAt);
    keep(localKey, null);
    ago(); preview();
  },
};
$$("[data-conflict]").forEach((button) => button.addEventListener("click", () => { dialog.close(); settle[button.dataset.conflict](); }));
dialog.addEventListener("cancel", () => settle.later());

// ——— The pages. What is shown has the revision of the fields that it is of, and is
// never replaced by that of an earlier one; the last good one stays while the source
// has a mistake.

const stage = $("[data-stage]"), strip = $("[data-strip]"), timing = $("[data-timing]"), printing = $("[data-printing]");
let revision = 1; // of the fields, one more with each change
let shown = 0, asked = 0, running = null, zoom = kept("editor-zoom"); // null fits the width
const density = () => Math.min(window.devicePixelRatio || 1, 2);

// widthOf is the width of a page's image in CSS pixels.
const widthOf = (picture) => (picture.naturalWidth || Number(picture.getAttribute("width"))) / (Number(picture.dataset.scale) || density());
const fit = (picture) => Math.min(1, Math.max(.25, (stage.clientWidth - 56) / widthOf(picture)));
const scale = (picture) => {
  if (!widthOf(picture)) return;
  const by = zoom ?? fit(picture);
  picture.style.width = `${Math.floor(widthOf(picture) * by)}px`;
  $("[data-zoom-shown]").textContent = `${Math.round(by * 100)}%`;
};
const scaleAll = () => $$(".paper img", stage).forEach(scale);

let last = null; // the latest pages that came
const draw = (made) => {
  last = made;
  if (framesOnly || made.revision < shown) return;
  shown = made.revision;
  const [top, left] = [stage.scrollTop, stage.scrollLeft];
  const sheets = made.images.map((image, i) => {
    const picture = element("img", { src: `data:image/png;base64,${image}`, alt: `Page ${i + 1} of the draft` });
    picture.dataset.scale = density();
    picture.addEventListener("load", () => scale(picture), { once: true });
    return element("div", { className: "crop" }, element("div", { className: "paper" }, picture));
  });
  if (made.pages > sheets.length) sheets.push(element("p", { className: "faint", textContent: `${made.pages - sheets.length} more pages are not shown.` }));
  frames.remove();
  stage.replaceChildren(...sheets);
  stage.scrollTo(left, top);
  stage.dataset.preview = "";
  strip.hidden = made.images.length < 2;
  strip.replaceChildren(...(made.images.length < 2 ? [] : sheets.slice(0, made.images.length).map((sheet, i) => {
    const button = element("button", { type: "button", title: `Page ${i + 1}` }, element("img", { src: $("img", sheet).src, alt: `Page ${i + 1}` }));
    button.addEventListener("click", () => sheet.scrollIntoView({ block: "start" }));
    return button;
  })));
  timing.textContent = `${made.pages} ${made.pages === 1 ? "page" : "pages"} · ${made.milliseconds < 1000 ? `${made.milliseconds} ms` : `${(made.milliseconds / 1000).toFixed(2)} s`}`;
  if (!embedded) $("[data-left]").textContent = `Previews are free, ${made.left.toLocaleString("en-US")} left today`;
};

// The last pages stay until there are new ones, with a mark where these take long. The HTML without pages is shown to
// who switches to it.
const frames = framesIn(stage, `${path}/filled`, sent);
const slow = 500; // milliseconds, after which the mark of progress appears
let framesOnly = false, filling = 0;
const showWork = () => {
  printing.hidden = false;
  timing.textContent = "Rendering…";
};
const endWork = () => {
  stage.removeAttribute("aria-busy");
  if (printing) printing.hidden = true;
  $("[data-blank] .paper", stage)?.replaceChildren(); // nothing is on its way
};
const showFrame = () => {
  filling = revision;
  const paper = paperOf(readJSON("options") ?? {}, text("html"));
  const by = zoom ?? Math.min(1, Math.max(.25, (stage.clientWidth - 56) / paper.width));
  frames.fill(Object.fromEntries(sent.map((name) => [name, text(name)])), paper, by, (sheet) => {
    shown = filling;
    sheet.hidden = false;
    for (const other of [...stage.children]) if (other !== sheet) other.remove();
    strip.hidden = true;
    timing.textContent = "HTML, without page breaks";
  });
};
const switchFrames = (button) => {
  framesOnly = !framesOnly;
  button.setAttribute("aria-pressed", String(framesOnly));
  if (framesOnly) return showFrame();
  if (last) draw(last);
};

const preview = async () => {
  clearTimeout(previewTimer);
  showPaper();
  if (!checkJSON() || !text("html")) {
    showAccessible(null, revision);
    return endWork();
  }
  if (!sees) return check(text("html"));
  const turn = ++asked, of = revision, body = draft(), source = text("html");
  if (!shown) showWork();
  const late = setTimeout(() => { if (turn === asked && !framesOnly) showWork(); }, slow);
  running?.abort();
  const own = running = new AbortController();
  stage.setAttribute("aria-busy", "true");
  check(source);
  try {
    const answer = await ask(`/pages?scale=${density()}${accessible?.hidden === false ? "&accessible=1" : ""}`, { body, signal: own.signal });
    if (!answer.ok) {
      const error = await messageOf(answer);
      if (turn === asked) showAccessible(null, of);
      if (turn === asked) {
        timing.textContent = frames.shown ? "HTML, without page breaks" : $(".paper img", stage) ? "Last valid pages" : "";
        if (!faults) showProblems((error.details?.length ? error.details : [{ message: error.message }]).map((detail) => ({ kind: "e", parts: [detail.field ? `${detail.field} ${detail.message}` : detail.message] })));
      }
      return;
    }
    const made = await answer.json();
    if (of >= (last?.revision ?? 0)) draw({ ...made, revision: of });
    if (made.warnings) showAccessible(made.warnings, of);
  } catch (error) {
    if (error instanceof SignedOut) signedOut();
    else if (error.name !== "AbortError" && turn === asked) timing.textContent = "No connection";
  } finally {
    clearTimeout(late);
    if (turn === asked) endWork();
  }
};

let checked = 0;
const check = async (source) => {
  const turn = ++checked;
  try {
    const answer = await ask("/check", { body: bodyOf(sent.filter((name) => name !== "options")) });
    if (answer.ok && turn === checked) showChecked(await answer.json(), source);
  } catch { /* the preview says what is wrong with the connection */ }
};

// ——— From a place on a page to its line, and back. Where elements lie is asked for
// when somebody wants to know, once for each state of the fields.

let placed = { body: "", list: null };
const placesOf = () => {
  const body = draft();
  if (placed.body !== body) {
    const list = ask("/pages?places=1", { body }).then(async (answer) => {
      if (!answer.ok) throw new Error((await messageOf(answer)).message);
      // The browser leaves the margins out.
      const [left, top] = originOf(readJSON("options") ?? {}, text("html"));
      return (await answer.json()).places.map((place) => ({ ...place, x: place.x + left, y: place.y + top }));
    });
    list.catch(() => { if (placed.list === list) placed = { body: "", list: null }; });
    placed = { body, list };
  }
  return placed.list;
};
const finds = async (find) => {
  if (!sees) return;
  $(".spot", stage)?.remove();
  stage.setAttribute("aria-busy", "true");
  try {
    if (!find(await placesOf())) timing.textContent = "No line of the template matches this position";
  } catch (error) {
    if (error instanceof SignedOut) signedOut();
    else timing.textContent = error.message;
  } finally {
    stage.removeAttribute("aria-busy");
  }
};
stage.addEventListener("click", (event) => {
  const picture = event.target.closest(".paper img");
  if (!picture) return;
  const box = picture.getBoundingClientRect(), page = $$(".paper img", stage).indexOf(picture) + 1;
  const [x, y] = [(event.clientX - box.left) / box.width, (event.clientY - box.top) / box.height];
  finds((places) => {
    const place = lineAt(places, page, x, y, box.height / box.width);
    const { doc } = views.html.state;
    if (!place || place.line > doc.lines) return false;
    goTo(doc.line(place.line).from);
    return true;
  });
});
const findOnPage = () => finds((places) => {
  const { doc, selection } = views.html.state;
  const place = placeOf(places, doc.lineAt(selection.main.head).number);
  const sheet = place && $$(".paper", stage)[place.page - 1];
  if (!sheet?.querySelector("img")) return false;
  const spot = element("div", { className: "spot" });
  spot.style.top = `${place.y * 100}%`;
  sheet.append(spot);
  spot.scrollIntoView({ block: "center" });
  return true;
});

// ——— What prevents PDF/UA-1: the API's own warnings. The pages are tagged only while the list is open.

const accessible = $('[data-pane="accessible"]');
let accessibleOf = 0; // the revision of the list
const breaksUA = ({ standards }) => Boolean(standards?.includes("ua-1"));
const goToFinding = (finding) => {
  const sources = sourcesOf(finding, text("html")), { doc } = views.html.state;
  if (sources.length === 1) return goTo(sources[0]);
  const sheet = $$(".crop", stage)[finding.page - 1];
  if (!sources.length) { sheet?.scrollIntoView({ block: "start" }); return stage.focus({ preventScroll: true }); }
  finds((places) => {
    goTo(sources.find((from) => placeOf(places, doc.lineAt(from).number)?.page === finding.page) ?? sources[0]);
    return true;
  });
};
const showAccessible = (warnings, of) => {
  if (!accessible || of < accessibleOf) return;
  const summary = $("[role=status]", accessible);
  if (!warnings) {
    if (!accessible.hidden) summary.textContent = "Not updated since the error.";
    return;
  }
  accessibleOf = of;
  const findings = warnings.filter(({ code }) => code === "standard_unmet");
  const errors = findings.filter(breaksUA).length;
  summary.textContent = errors ? `${errors} ${errors === 1 ? "error prevents" : "errors prevent"} PDF/UA-1.` : "No errors. The PDF can claim PDF/UA-1.";
  $("ul", accessible).replaceChildren(...findings.map((finding) => {
    const sources = sourcesOf(finding, text("html"));
    const where = sources.length === 1 ? `Line ${views.html.state.doc.lineAt(sources[0]).number}` : sources.length ? "Source" : `Page ${finding.page}`;
    const { page, element, text: content, problem: wrong, remedy } = finding;
    const name = [element, content && `"${content}"`].filter(Boolean).join(" ");
    const parts = name ? [code(name), page ? `, page ${page}. ` : ". "] : page ? [`Page ${page}. `] : [];
    return problem({ kind: breaksUA(finding) ? "e" : "w", parts: [...parts, [wrong, remedy].filter(Boolean).join(" ")], where, go: sources.length || finding.page ? () => goToFinding(finding) : null });
  }));
};

// ——— Formatting. What would change more than space is left as it was.

let formatter = null; // it is fetched by who wants it
const loadFormatter = () => formatter ??= new Promise((resolve, reject) => {
  const script = element("script", { src: main.dataset.format, nonce });
  script.addEventListener("load", () => resolve(globalThis.formatTemplate));
  script.addEventListener("error", () => { formatter = null; reject(new Error("The formatter could not be loaded")); });
  document.head.append(script);
});
const format = async () => {
  if (fixed.html) return;
  try {
    const made = (await loadFormatter())(text("html"));
    if (made === null) { timing.textContent = "Not formatted: formatting would change the output"; return; }
    const { head } = views.html.state.selection.main, { number } = views.html.state.doc.lineAt(head);
    if (made === text("html")) return;
    views.html.dispatch({ changes: { from: 0, to: views.html.state.doc.length, insert: made }, annotations: isolateHistory.of("full") });
    const { doc } = views.html.state;
    views.html.dispatch({ selection: { anchor: doc.line(Math.min(number, doc.lines)).from }, scrollIntoView: true });
  } catch (error) {
    timing.textContent = error.message;
  }
};

const resize = (by) => {
  const first = $(".paper img", stage);
  const now = zoom ?? (first?.naturalWidth ? fit(first) : 1);
  zoom = Math.min(3, Math.max(.25, Math.round((now + by * .1) * 10) / 10));
  keep("editor-zoom", zoom);
  rescale();
};
const rescale = () => { scaleAll(); if (framesOnly) showFrame(); };
new ResizeObserver(() => { if (zoom === null) rescale(); }).observe(stage);

// ——— Options: a form beside their JSON.

const valueAt = (object, name) => name.split(".").reduce((inner, part) => inner?.[part], object);
const withValue = (object, name, value) => {
  const [first, ...rest] = name.split(".");
  const made = { ...object };
  if (rest.length) {
    made[first] = withValue(made[first] ?? {}, rest.join("."), value);
    if (!Object.keys(made[first]).length) delete made[first];
  } else if (value === undefined) delete made[first];
  else made[first] = value;
  return made;
};
const setOption = (name, value) => {
  const options = readJSON("options");
  if (options) setText("options", JSON.stringify(withValue(options, name, value), null, 2));
};
const showOptions = () => {
  const options = readJSON("options");
  if (!options) return;
  for (const control of $$("[data-option]")) {
    if (control === document.activeElement) continue;
    const value = valueAt(options, control.dataset.option);
    if (control.type === "checkbox") control.checked = value ?? control.dataset.default === "true";
    else control.value = value ?? "";
  }
  for (const name of ["headerTemplate", "footerTemplate"]) if (views[name] && !views[name].hasFocus) setText(name, options[name] ?? "");
  showPaper();
};
const showPaper = () => {
  const options = readJSON("options");
  if (options) $("[data-paper]").textContent = paperText(options, text("html"));
};
const optionTyped = (control) => {
  const { option, kind } = control.dataset;
  if (control.type === "checkbox") return setOption(option, control.checked === (control.dataset.default === "true") ? undefined : control.checked);
  const typed = control.value.trim();
  if (!typed) return setOption(option, undefined);
  setOption(option, (kind === "number" || kind === "length") && !Number.isNaN(Number(typed)) ? Number(typed) : typed);
};

// ——— What happens when something is typed.

let previewTimer = 0, localTimer = 0, frameTimer = 0, quiet = true;
const changed = (name) => {
  if (quiet) return;
  if (name === "headerTemplate" || name === "footerTemplate") {
    if (views[name].hasFocus) setOption(name, text(name) || undefined);
    return;
  }
  if (name === "sampleData") { const data = readJSON("sampleData"); if (data) paths = collect(data, "", []); }
  if (name === "options") showOptions();
  revision++;
  dirty = true;
  if (!conflict) say("Not saved yet");
  clearTimeout(previewTimer); clearTimeout(saveTimer); clearTimeout(localTimer); clearTimeout(frameTimer);
  if (framesOnly) frameTimer = setTimeout(showFrame, 120);
  localTimer = setTimeout(() => keep(localKey, everything()), 200);
  previewTimer = setTimeout(preview, 300);
  if (!readOnly) saveTimer = setTimeout(save, 1500);
};

// ——— Tabs, panes, and the rest of the frame.

const mark = (kind, name) => $$(`[data-${kind}]`).forEach((tab) => {
  if (tab.dataset[kind] === name) tab.setAttribute("aria-current", "true");
  else tab.removeAttribute("aria-current");
});
const showFile = (name) => {
  mark("file", name);
  for (const key of ["html", "headerTemplate", "footerTemplate"]) views[key].dom.hidden = key !== name;
};
const showSide = (name) => {
  mark("side", name);
  for (const pane of ["data", "options", "paths", "accessible"]) if ($(`[data-pane="${pane}"]`)) $(`[data-pane="${pane}"]`).hidden = pane !== name;
  if (name === "accessible" && accessibleOf < revision) {
    $("[role=status]", accessible).textContent = "Checking…";
    preview();
  }
};

const layout = kept("editor-panes") ?? { code: 42, prev: 33 };
const arrange = () => {
  if (matchMedia("(max-width: 75rem)").matches) { main.style.gridTemplateColumns = ""; return; }
  main.style.gridTemplateColumns = `minmax(0, ${layout.code}fr) minmax(0, ${100 - layout.code - layout.prev}fr) minmax(0, ${layout.prev}fr)`;
  $('[data-grip="code"]').setAttribute("aria-valuenow", Math.round(layout.code));
  $('[data-grip="prev"]').setAttribute("aria-valuenow", Math.round(100 - layout.prev));
};
const move = (grip, percent) => {
  if (grip.dataset.grip === "code") layout.code = Math.min(85 - layout.prev, Math.max(15, percent));
  else layout.prev = Math.min(85 - layout.code, Math.max(15, 100 - percent));
  arrange();
  keep("editor-panes", layout);
};
for (const grip of $$("[data-grip]")) {
  grip.hidden = false;
  grip.addEventListener("pointerdown", (event) => {
    event.preventDefault();
    grip.setPointerCapture(event.pointerId);
    const drag = (moved) => { const box = main.getBoundingClientRect(); move(grip, ((moved.clientX - box.left) / box.width) * 100); };
    grip.addEventListener("pointermove", drag);
    grip.addEventListener("pointerup", () => grip.removeEventListener("pointermove", drag), { once: true });
  });
  grip.addEventListener("keydown", (event) => {
    const by = { ArrowLeft: -2, ArrowRight: 2 }[event.key];
    if (by) { event.preventDefault(); move(grip, (grip.dataset.grip === "code" ? layout.code : 100 - layout.prev) + by); }
  });
}
addEventListener("resize", arrange);

// publishHere publishes without leaving the page: in a frame nothing is kept for the next.
const publishHere = async (event) => {
  event.preventDefault();
  const asks = $("#publish"), { comment, etag: state } = Object.fromEntries(new FormData(event.currentTarget));
  try {
    const answer = await ask("/publish", { body: JSON.stringify({ comment }), headers: { "If-Match": state } });
    asks.close();
    if (!answer.ok) return say(`Not published: ${(await messageOf(answer)).message}`);
    etag = answer.headers.get("ETag");
    const { publishedVersion: version } = await answer.json();
    $("[data-draft]").hidden = true;
    savedAt = null;
    say(`Version ${version} published`);
    tell("published", { version });
  } catch (error) {
    asks.close();
    if (error instanceof SignedOut) signedOut();
    else say("Not published: no connection");
  }
};
// done leaves the frame, once what was typed is saved.
const done = async () => {
  if (dirty && !(await save())) return;
  tell("closed");
  // A page that is left at once would not hear it.
  if (main.dataset.return) setTimeout(() => open(main.dataset.return, "_top"), 200);
};

const publish = async (event) => {
  event.preventDefault();
  if (dirty && !(await save())) return;
  const answer = await ask("/publish", { method: "GET" });
  const form = answer.ok && $("[data-publish-form] form", new DOMParser().parseFromString(await answer.text(), "text/html"));
  if (!form) return embedded ? say("Not published: try again") : location.assign(`${path}/publish`);
  const asks = $("#publish");
  if (embedded) {
    form.addEventListener("submit", publishHere);
    // Browsers refuse that to frames of other sites; the dialog focuses its first field.
    $$("[autofocus]", form).forEach((control) => control.removeAttribute("autofocus"));
  }
  asks.replaceChildren(document.adoptNode(form));
  $("[data-close]", asks)?.addEventListener("click", (close) => { close.preventDefault(); asks.close(); });
  asks.showModal();
};

const start = () => {
  views.html = replaceField("html", templateSource());
  for (const name of ["headerTemplate", "footerTemplate"]) {
    views[name] = new EditorView({ parent: field("html").parentElement, state: EditorState.create({ doc: "", extensions: [common(name === "headerTemplate" ? "Header, HTML" : "Footer, HTML", fixed.options), html(), EditorView.updateListener.of((change) => { if (change.docChanged) changed(name); })] }) });
  }
  views.sampleData = replaceField("sampleData", json());
  views.options = replaceField("options", json());
  $$("[data-script], [data-fields], [data-zoom], [data-keys]").forEach((part) => { part.hidden = false; });
  if (!sees) $("[data-zoom]").hidden = true;
  showFile("html"); showSide("data");
  $$("[data-file]").forEach((tab) => tab.addEventListener("click", (event) => { event.preventDefault(); showFile(tab.dataset.file); views[tab.dataset.file].focus(); }));
  $$("[data-side]").forEach((tab) => tab.addEventListener("click", (event) => { event.preventDefault(); showSide(tab.dataset.side); }));
  $$("[data-option]").forEach((control) => { control.disabled = fixed.options; control.addEventListener(control.matches("input[type=text]") ? "input" : "change", () => optionTyped(control)); });
  $$("[data-zoom-by]").forEach((button) => button.addEventListener("click", () => resize(Number(button.dataset.zoomBy))));
  $("[data-zoom-fit]").addEventListener("click", () => { zoom = null; keep("editor-zoom", null); rescale(); });
  $("[data-frames]")?.addEventListener("click", (event) => switchFrames(event.currentTarget));
  $("[data-find]")?.addEventListener("click", findOnPage);
  $("[data-done]")?.addEventListener("click", done);
  $("[data-formats]")?.addEventListener("click", format);
  $("[data-publish]")?.addEventListener("click", publish);
  if ($("#describe")) {
    describes($("#describe"), {
      text, ask, messageOf, isLost: (error) => error instanceof SignedOut, lost: signedOut,
      put: (fields, words) => {
        const before = Object.fromEntries(Object.keys(fields).map((name) => [name, text(name)]));
        put(fields);
        showFile("html");
        offerUndo(words, before, fields.html);
      },
    });
  }
  // The paid document is of what stands here, so that it is saved first.
  $("[data-pdf]")?.addEventListener("submit", async (event) => {
    const form = event.currentTarget;
    if (!dirty) return;
    event.preventDefault();
    if (await save()) form.submit();
  });
  addEventListener("keydown", (event) => {
    if (!(event.ctrlKey || event.metaKey) || event.defaultPrevented) return;
    if (event.key === "s") { event.preventDefault(); save(); }
    if (event.key === "Enter") { event.preventDefault(); preview(); }
  });
  addEventListener("beforeunload", (event) => { if (dirty && !readOnly) { keep(localKey, everything()); if (conflict) event.preventDefault(); } });
  paths = collect(readJSON("sampleData") ?? {}, "", []);
  const left = kept(localKey);
  quiet = false;
  if ($(".paper img", stage)) stage.dataset.preview = "";
  scaleAll();
  const blank = $("[data-blank] .paper", stage), paper = paperOf(readJSON("options") ?? {}, text("html"));
  if (blank) blank.style.aspectRatio = `${paper.width} / ${paper.height}`;
  if (left && !readOnly && (left.html !== text("html") || left.sampleData !== text("sampleData") || left.options !== text("options"))) {
    // Typed before, and never saved: it comes back on top of what it was typed on.
    etag = left.etag;
    for (const name of fields) if (!fixed[name]) setText(name, left[name]);
  } else keep(localKey, null);
  arrange(); showOptions(); checkJSON(); preview();
  document.documentElement.dataset.editorReady = "";
};
start();
