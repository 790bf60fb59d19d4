// The tabs of the files and of the side pane, and the grips that resize the panes.

import { showFile, views } from "./core/fields.js";
import { $, $$, canPreview, loadSetting, main, saveSetting, selectTab } from "./core/page.js";

const sidePanes = ["data", "options", "paths", "accessible"];
const minWidth = 15; // percent of the page, as are all widths here
const paneWidths = loadSetting("editor-panes") ?? { code: 42, prev: 33 };

// startLayout shows the controls that need this script. onSide gets the name of a side pane that is opened.
export const startLayout = (onSide) => {
  for (const part of $$("[data-script], [data-fields], [data-zoom], [data-keys]")) part.hidden = false;
  if (!canPreview) $("[data-zoom]").hidden = true;

  showFile("html");
  showSide("data");
  for (const tab of $$("[data-file]")) {
    tab.addEventListener("click", (event) => {
      event.preventDefault();
      showFile(tab.dataset.file);
      views[tab.dataset.file].focus();
    });
  }
  for (const tab of $$("[data-side]")) {
    tab.addEventListener("click", (event) => {
      event.preventDefault();
      showSide(tab.dataset.side);
      onSide(tab.dataset.side);
    });
  }

  $$("[data-grip]").forEach(startGrip);
  addEventListener("resize", applyWidths);
  applyWidths();
};

const showSide = (name) => {
  selectTab("side", name);
  for (const pane of sidePanes) {
    const part = $(`[data-pane="${pane}"]`);
    if (part) part.hidden = pane !== name;
  }
};

const applyWidths = () => {
  if (matchMedia("(max-width: 75rem)").matches) {
    main.style.gridTemplateColumns = "";
    return;
  }
  const widths = [paneWidths.code, 100 - paneWidths.code - paneWidths.prev, paneWidths.prev];
  main.style.gridTemplateColumns = widths.map((width) => `minmax(0, ${width}fr)`).join(" ");
  $('[data-grip="code"]').setAttribute("aria-valuenow", Math.round(paneWidths.code));
  $('[data-grip="prev"]').setAttribute("aria-valuenow", Math.round(100 - paneWidths.prev));
};

// moveGrip moves a grip to a percentage of the page's width.
const moveGrip = (grip, percent) => {
  if (grip.dataset.grip === "code") {
    paneWidths.code = Math.min(100 - minWidth - paneWidths.prev, Math.max(minWidth, percent));
  } else {
    paneWidths.prev = Math.min(100 - minWidth - paneWidths.code, Math.max(minWidth, 100 - percent));
  }
  applyWidths();
  saveSetting("editor-panes", paneWidths);
};

const startGrip = (grip) => {
  grip.hidden = false;
  grip.addEventListener("pointerdown", (event) => {
    event.preventDefault();
    grip.setPointerCapture(event.pointerId);
    const drag = ({ clientX }) => {
      const box = main.getBoundingClientRect();
      moveGrip(grip, ((clientX - box.left) / box.width) * 100);
    };
    grip.addEventListener("pointermove", drag);
    grip.addEventListener("pointerup", () => grip.removeEventListener("pointermove", drag), { once: true });
  });

  grip.addEventListener("keydown", (event) => {
    const step = { ArrowLeft: -2, ArrowRight: 2 }[event.key];
    if (!step) return;
    event.preventDefault();
    moveGrip(grip, (grip.dataset.grip === "code" ? paneWidths.code : 100 - paneWidths.prev) + step);
  });
};
