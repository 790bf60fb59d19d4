// The tabs of the files and of the side pane, and the grips that resize the panes.

import { showFile, views } from "./core/fields.js";
import { $, $$, keep, kept, main, markTab, sees } from "./core/page.js";

const sidePanes = ["data", "options", "paths", "accessible"];
const minWidth = 15; // percent of the page, as are all widths here
const layout = kept("editor-panes") ?? { code: 42, prev: 33 };

// startLayout shows the controls that need this script. onSide gets the name of a side pane that is opened.
export const startLayout = (onSide) => {
  for (const part of $$("[data-script], [data-fields], [data-zoom], [data-keys]")) part.hidden = false;
  if (!sees) $("[data-zoom]").hidden = true;

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
  addEventListener("resize", arrange);
  arrange();
};

const showSide = (name) => {
  markTab("side", name);
  for (const pane of sidePanes) {
    const part = $(`[data-pane="${pane}"]`);
    if (part) part.hidden = pane !== name;
  }
};

const arrange = () => {
  if (matchMedia("(max-width: 75rem)").matches) {
    main.style.gridTemplateColumns = "";
    return;
  }
  const widths = [layout.code, 100 - layout.code - layout.prev, layout.prev];
  main.style.gridTemplateColumns = widths.map((width) => `minmax(0, ${width}fr)`).join(" ");
  $('[data-grip="code"]').setAttribute("aria-valuenow", Math.round(layout.code));
  $('[data-grip="prev"]').setAttribute("aria-valuenow", Math.round(100 - layout.prev));
};

// move places a grip at a percentage of the page's width.
const move = (grip, percent) => {
  if (grip.dataset.grip === "code") {
    layout.code = Math.min(100 - minWidth - layout.prev, Math.max(minWidth, percent));
  } else {
    layout.prev = Math.min(100 - minWidth - layout.code, Math.max(minWidth, 100 - percent));
  }
  arrange();
  keep("editor-panes", layout);
};

const startGrip = (grip) => {
  grip.hidden = false;
  grip.addEventListener("pointerdown", (event) => {
    event.preventDefault();
    grip.setPointerCapture(event.pointerId);
    const drag = ({ clientX }) => {
      const box = main.getBoundingClientRect();
      move(grip, ((clientX - box.left) / box.width) * 100);
    };
    grip.addEventListener("pointermove", drag);
    grip.addEventListener("pointerup", () => grip.removeEventListener("pointermove", drag), { once: true });
  });

  grip.addEventListener("keydown", (event) => {
    const by = { ArrowLeft: -2, ArrowRight: 2 }[event.key];
    if (!by) return;
    event.preventDefault();
    move(grip, (grip.dataset.grip === "code" ? layout.code : 100 - layout.prev) + by);
  });
};
