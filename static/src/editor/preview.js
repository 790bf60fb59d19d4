// The rendered pages. What is shown has the revision of the fields that it is of, and is never replaced by that of an
// earlier one; the last good one stays while the source has a mistake.

import { framesIn } from "./core/frame.js";
import { draft, readJSON, revision, sent, text } from "./core/fields.js";
import { $, $$, element, embedded, keep, kept, path, stage, timing } from "./core/page.js";
import { paperOf } from "./core/paper.js";
import { SignedOut, ask, messageOf } from "./core/server.js";
import { signedOut } from "./core/draft.js";

const slow = 500; // milliseconds, after which the mark of progress appears
const framePause = 120;
const stagePadding = 56;
const minFit = 0.25;
const maxZoom = 3;

const strip = $("[data-strip]");
const printing = $("[data-printing]");
const frames = framesIn(stage, `${path}/filled`, sent);

let shown = 0; // the revision of what is shown
let last = null; // the latest pages that came
let asked = 0;
let running = null;
let zoom = kept("editor-zoom"); // null fits the width
let framesOnly = false;
let filling = 0; // the revision of the HTML in the frame
let frameTimer = 0;

export const startPreview = () => {
  if ($(".paper img", stage)) stage.dataset.preview = "";
  scaleAll();

  const blank = $("[data-blank] .paper", stage);
  if (blank) {
    const { width, height } = paper();
    blank.style.aspectRatio = `${width} / ${height}`;
  }

  for (const button of $$("[data-zoom-by]")) {
    button.addEventListener("click", () => resize(Number(button.dataset.zoomBy)));
  }
  $("[data-zoom-fit]").addEventListener("click", () => setZoom(null));
  $("[data-frames]")?.addEventListener("click", (event) => switchFrames(event.currentTarget));
  new ResizeObserver(() => {
    if (zoom === null) rescale();
  }).observe(stage);
};

const paper = () => paperOf(readJSON("options") ?? {}, text("html"));

// ——— Zoom.

const density = () => Math.min(window.devicePixelRatio || 1, 2);

// widthOf is the width of a page's image in CSS pixels.
const widthOf = (picture) => {
  const pixels = picture.naturalWidth || Number(picture.getAttribute("width"));
  return pixels / (Number(picture.dataset.scale) || density());
};
const fit = (width) => Math.min(1, Math.max(minFit, (stage.clientWidth - stagePadding) / width));

const scale = (picture) => {
  const width = widthOf(picture);
  if (!width) return;
  const by = zoom ?? fit(width);
  picture.style.width = `${Math.floor(width * by)}px`;
  $("[data-zoom-shown]").textContent = `${Math.round(by * 100)}%`;
};
const scaleAll = () => $$(".paper img", stage).forEach(scale);

const rescale = () => {
  scaleAll();
  if (framesOnly) showFrame();
};
const setZoom = (value) => {
  zoom = value;
  keep("editor-zoom", zoom);
  rescale();
};
const resize = (by) => {
  const first = $(".paper img", stage);
  const now = zoom ?? (first?.naturalWidth ? fit(widthOf(first)) : 1);
  setZoom(Math.min(maxZoom, Math.max(minFit, Math.round((now + by * 0.1) * 10) / 10)));
};

// ——— Pages.

const draw = (made) => {
  last = made;
  if (framesOnly || made.revision < shown) return;
  shown = made.revision;

  const sheets = made.images.map(sheetOf);
  const rest = made.pages - sheets.length;
  const note = element("p", { className: "faint", textContent: `${rest} more pages are not shown.` });

  const { scrollTop, scrollLeft } = stage;
  frames.remove();
  stage.replaceChildren(...sheets, ...(rest > 0 ? [note] : []));
  stage.scrollTo(scrollLeft, scrollTop);
  stage.dataset.preview = "";

  strip.hidden = sheets.length < 2;
  strip.replaceChildren(...(strip.hidden ? [] : sheets.map(thumbnailOf)));

  timing.textContent = `${made.pages} ${made.pages === 1 ? "page" : "pages"} · ${durationOf(made.milliseconds)}`;
  if (!embedded) {
    const left = made.left.toLocaleString("en-US");
    $("[data-left]").textContent = `Previews are free, ${left} left today`;
  }
};

const durationOf = (milliseconds) =>
  milliseconds < 1000 ? `${milliseconds} ms` : `${(milliseconds / 1000).toFixed(2)} s`;

const sheetOf = (image, i) => {
  const picture = element("img", { src: `data:image/png;base64,${image}`, alt: `Page ${i + 1} of the draft` });
  picture.dataset.scale = density();
  picture.addEventListener("load", () => scale(picture), { once: true });
  return element("div", { className: "crop" }, element("div", { className: "paper" }, picture));
};

const thumbnailOf = (sheet, i) => {
  const picture = element("img", { src: $("img", sheet).src, alt: `Page ${i + 1}` });
  const button = element("button", { type: "button", title: `Page ${i + 1}` }, picture);
  button.addEventListener("click", () => sheet.scrollIntoView({ block: "start" }));
  return button;
};

// ——— The HTML without pages, for the user who switches to it.

const showFrame = () => {
  filling = revision;
  const size = paper();
  const texts = Object.fromEntries(sent.map((name) => [name, text(name)]));
  frames.fill(texts, size, zoom ?? fit(size.width), (sheet) => {
    shown = filling;
    sheet.hidden = false;
    for (const other of [...stage.children]) {
      if (other !== sheet) other.remove();
    }
    strip.hidden = true;
    timing.textContent = "HTML, without page breaks";
  });
};

const switchFrames = (button) => {
  framesOnly = !framesOnly;
  button.setAttribute("aria-pressed", String(framesOnly));
  if (framesOnly) showFrame();
  else if (last) draw(last);
};

// updateFrame follows what is typed, if the HTML is shown without pages.
export const updateFrame = () => {
  clearTimeout(frameTimer);
  if (framesOnly) frameTimer = setTimeout(showFrame, framePause);
};

// ——— Rendering. The last pages stay until there are new ones, with a mark of progress where these take long.

const showWork = () => {
  printing.hidden = false;
  timing.textContent = "Rendering…";
};
export const endWork = () => {
  stage.removeAttribute("aria-busy");
  if (printing) printing.hidden = true;
  $("[data-blank] .paper", stage)?.replaceChildren(); // nothing is on its way
};

// render renders the fields as they are. onWarnings gets the result's warnings, if accessible requests them, and
// onRefusal the error of the server; both get the revision of the fields.
export const render = async ({ accessible, onWarnings, onRefusal }) => {
  const turn = ++asked;
  const of = revision;
  if (!shown) showWork();
  const late = setTimeout(() => {
    if (turn === asked && !framesOnly) showWork();
  }, slow);

  running?.abort();
  const own = (running = new AbortController());
  stage.setAttribute("aria-busy", "true");
  try {
    const query = `?scale=${density()}${accessible ? "&accessible=1" : ""}`;
    const answer = await ask(`/pages${query}`, { body: draft(), signal: own.signal });
    if (!answer.ok) {
      const error = await messageOf(answer);
      if (turn !== asked) return;
      timing.textContent = staleLabel();
      onRefusal(error, of);
      return;
    }

    const made = await answer.json();
    if (of >= (last?.revision ?? 0)) draw({ ...made, revision: of });
    if (made.warnings) onWarnings(made.warnings, of);
  } catch (error) {
    if (error instanceof SignedOut) signedOut();
    else if (error.name !== "AbortError" && turn === asked) timing.textContent = "No connection";
  } finally {
    clearTimeout(late);
    if (turn === asked) endWork();
  }
};

// staleLabel describes what is shown while there are no pages of the fields.
const staleLabel = () => {
  if (frames.shown) return "HTML, without page breaks";
  return $(".paper img", stage) ? "Last valid pages" : "";
};
