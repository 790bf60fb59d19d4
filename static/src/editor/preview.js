// The rendered pages. Pages of an earlier revision of the fields never replace later ones, and the last valid ones stay
// while the source has an error.

import { createHTMLFrame } from "./core/frame.js";
import { draftBody, getText, readObject, requestFields, revision } from "./core/fields.js";
import { $, $$, element, embedded, loadSetting, pagePath, previewStatus, saveSetting, stage } from "./core/page.js";
import { paperOf } from "./core/paper.js";
import { SessionEndedError, errorOf, request } from "./core/server.js";
import { handleSessionEnd } from "./core/draft.js";

const progressDelay = 500; // milliseconds, after which the mark of progress appears
const frameDelay = 120;
const stagePadding = 56;
const minFit = 0.25;
const maxZoom = 3;

const strip = $("[data-strip]");
const progressBar = $("[data-printing]");
const htmlFrame = createHTMLFrame(stage, `${pagePath}/filled`, requestFields);

let shownRevision = 0;
let lastPages = null; // the latest result
let lastRender = 0;
let pendingRender = null;
let zoom = loadSetting("editor-zoom"); // null fits the width
let showsHTML = false;
let frameRevision = 0;
let frameTimer = 0;

export const startPreview = () => {
  if ($(".paper img", stage)) stage.dataset.preview = "";
  scaleAll();

  const blank = $("[data-blank] .paper", stage);
  if (blank) {
    const { width, height } = currentPaper();
    blank.style.aspectRatio = `${width} / ${height}`;
  }

  for (const button of $$("[data-zoom-by]")) {
    button.addEventListener("click", () => zoomBy(Number(button.dataset.zoomBy)));
  }
  $("[data-zoom-fit]").addEventListener("click", () => setZoom(null));
  $("[data-frames]")?.addEventListener("click", (event) => toggleHTML(event.currentTarget));
  new ResizeObserver(() => {
    if (zoom === null) rescale();
  }).observe(stage);
};

const currentPaper = () => paperOf(readObject("options") ?? {}, getText("html"));

// ——— Zoom.

const pixelDensity = () => Math.min(window.devicePixelRatio || 1, 2);

// widthOf is the width of a page's image in CSS pixels.
const widthOf = (image) => {
  const pixels = image.naturalWidth || Number(image.getAttribute("width"));
  return pixels / (Number(image.dataset.scale) || pixelDensity());
};
const fitScale = (width) => Math.min(1, Math.max(minFit, (stage.clientWidth - stagePadding) / width));

const scaleImage = (image) => {
  const width = widthOf(image);
  if (!width) return;
  const factor = zoom ?? fitScale(width);
  image.style.width = `${Math.floor(width * factor)}px`;
  $("[data-zoom-shown]").textContent = `${Math.round(factor * 100)}%`;
};
const scaleAll = () => $$(".paper img", stage).forEach(scaleImage);

const rescale = () => {
  scaleAll();
  if (showsHTML) showHTML();
};
const setZoom = (value) => {
  zoom = value;
  saveSetting("editor-zoom", zoom);
  rescale();
};
const zoomBy = (steps) => {
  const first = $(".paper img", stage);
  const now = zoom ?? (first?.naturalWidth ? fitScale(widthOf(first)) : 1);
  setZoom(Math.min(maxZoom, Math.max(minFit, Math.round((now + steps * 0.1) * 10) / 10)));
};

// ——— Pages.

const showPages = (result) => {
  lastPages = result;
  if (showsHTML || result.revision < shownRevision) return;
  shownRevision = result.revision;

  const sheets = result.images.map(createSheet);
  const rest = result.pages - sheets.length;
  const note = element("p", { className: "faint", textContent: `${rest} more pages are not shown.` });

  const { scrollTop, scrollLeft } = stage;
  htmlFrame.remove();
  stage.replaceChildren(...sheets, ...(rest > 0 ? [note] : []));
  stage.scrollTo(scrollLeft, scrollTop);
  stage.dataset.preview = "";

  strip.hidden = sheets.length < 2;
  strip.replaceChildren(...(strip.hidden ? [] : sheets.map(createThumbnail)));

  const count = `${result.pages} ${result.pages === 1 ? "page" : "pages"}`;
  previewStatus.textContent = `${count} · ${durationOf(result.milliseconds)}`;
  if (!embedded) {
    const left = result.left.toLocaleString("en-US");
    $("[data-left]").textContent = `Previews are free, ${left} left today`;
  }
};

const durationOf = (milliseconds) =>
  milliseconds < 1000 ? `${milliseconds} ms` : `${(milliseconds / 1000).toFixed(2)} s`;

const createSheet = (png, i) => {
  const image = element("img", { src: `data:image/png;base64,${png}`, alt: `Page ${i + 1} of the draft` });
  image.dataset.scale = pixelDensity();
  image.addEventListener("load", () => scaleImage(image), { once: true });
  return element("div", { className: "crop" }, element("div", { className: "paper" }, image));
};

const createThumbnail = (sheet, i) => {
  const image = element("img", { src: $("img", sheet).src, alt: `Page ${i + 1}` });
  const button = element("button", { type: "button", title: `Page ${i + 1}` }, image);
  button.addEventListener("click", () => sheet.scrollIntoView({ block: "start" }));
  return button;
};

// ——— The HTML without pages, for the user who switches to it.

const showHTML = () => {
  frameRevision = revision;
  const size = currentPaper();
  const texts = Object.fromEntries(requestFields.map((name) => [name, getText(name)]));
  htmlFrame.fill(texts, size, zoom ?? fitScale(size.width), (sheet) => {
    shownRevision = frameRevision;
    sheet.hidden = false;
    for (const other of [...stage.children]) {
      if (other !== sheet) other.remove();
    }
    strip.hidden = true;
    previewStatus.textContent = "HTML, without page breaks";
  });
};

const toggleHTML = (button) => {
  showsHTML = !showsHTML;
  button.setAttribute("aria-pressed", String(showsHTML));
  if (showsHTML) showHTML();
  else if (lastPages) showPages(lastPages);
};

// updateHTML shows the HTML again, if it is shown without pages.
export const updateHTML = () => {
  clearTimeout(frameTimer);
  if (showsHTML) frameTimer = setTimeout(showHTML, frameDelay);
};

// ——— Rendering. The last pages stay until there are new ones, with a mark of progress where these take long.

const showProgress = () => {
  progressBar.hidden = false;
  previewStatus.textContent = "Rendering…";
};
export const hideProgress = () => {
  stage.removeAttribute("aria-busy");
  if (progressBar) progressBar.hidden = true;
  $("[data-blank] .paper", stage)?.replaceChildren(); // no page is being rendered
};

// render renders the fields as they are. onWarnings gets the result's warnings, if accessible requests them, and
// onRefusal the error of the server; both get the revision of the fields.
export const render = async ({ accessible, onWarnings, onRefusal }) => {
  const renderID = ++lastRender;
  const renderRevision = revision;
  if (!shownRevision) showProgress();
  const progressTimer = setTimeout(() => {
    if (renderID === lastRender && !showsHTML) showProgress();
  }, progressDelay);

  pendingRender?.abort();
  const controller = (pendingRender = new AbortController());
  stage.setAttribute("aria-busy", "true");
  try {
    const query = `?scale=${pixelDensity()}${accessible ? "&accessible=1" : ""}`;
    const response = await request(`/pages${query}`, { body: draftBody(), signal: controller.signal });
    if (!response.ok) {
      const error = await errorOf(response);
      if (renderID !== lastRender) return;
      previewStatus.textContent = staleLabel();
      onRefusal(error, renderRevision);
      return;
    }

    const result = await response.json();
    if (renderRevision >= (lastPages?.revision ?? 0)) showPages({ ...result, revision: renderRevision });
    if (result.warnings) onWarnings(result.warnings, renderRevision);
  } catch (error) {
    if (error instanceof SessionEndedError) handleSessionEnd();
    else if (error.name !== "AbortError" && renderID === lastRender) previewStatus.textContent = "No connection";
  } finally {
    clearTimeout(progressTimer);
    if (renderID === lastRender) hideProgress();
  }
};

// staleLabel describes what is shown while there are no pages of the fields.
const staleLabel = () => {
  if (htmlFrame.shown) return "HTML, without page breaks";
  return $(".paper img", stage) ? "Last valid pages" : "";
};
