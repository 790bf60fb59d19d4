// The HTML of a draft as a browser shows it, in a frame that runs nothing, asks
// nobody and has no origin. It stands where the pages will be until they come.

const inches = { A0: [33.11, 46.81], A1: [23.39, 33.11], A2: [16.54, 23.39], A3: [11.69, 16.54], A4: [8.27, 11.69], A5: [5.83, 8.27], A6: [4.13, 5.83], Letter: [8.5, 11], Legal: [8.5, 14], Tabloid: [11, 17], Ledger: [17, 11] };
const units = { px: 1, in: 96, cm: 96 / 2.54, mm: 96 / 25.4, pt: 96 / 72, pc: 16 };

// pixels of a length: a number of them, or a text with a unit.
const pixels = (value) => {
  if (typeof value === "number") return value;
  const [, number, unit] = /^\s*([\d.]+)\s*([a-z]*)\s*$/.exec(value ?? "") ?? [];
  return number ? Number(number) * (units[unit || "px"] ?? 0) : 0;
};

// paperOf is the size of a page and of its margins, in pixels.
export const paperOf = (options) => {
  const named = Object.entries(inches).find(([name]) => name.toLowerCase() === String(options.format ?? "").toLowerCase())?.[1];
  let [width, height] = (named ?? inches.Letter).map((side) => side * 96);
  if (!named) [width, height] = [pixels(options.width) || width, pixels(options.height) || height];
  if (options.landscape && width < height) [width, height] = [height, width];
  const margin = Object.fromEntries(["top", "right", "bottom", "left"].map((side) => [side, pixels(options.margin?.[side])]));
  return { width, height, margin };
};

// framesIn makes frames in the stage. action takes the form with the named fields.
export const framesIn = (stage, action, names) => {
  let sheet = null;
  const form = Object.assign(document.createElement("form"), { method: "post", enctype: "multipart/form-data", action, target: "filled", hidden: true });
  for (const name of names) form.append(Object.assign(document.createElement("textarea"), { name }));
  document.body.append(form);

  const make = (shows) => {
    const frame = Object.assign(document.createElement("iframe"), { name: "filled", title: "HTML preview until the pages are rendered", tabIndex: -1 });
    frame.setAttribute("sandbox", "");
    sheet = Object.assign(document.createElement("div"), { className: "crop instant", hidden: true });
    const paper = Object.assign(document.createElement("div"), { className: "paper" });
    paper.append(frame);
    sheet.append(paper);
    stage.append(sheet);
    sheet.loaded = false;
    frame.addEventListener("load", () => {
      if (!sheet?.contains(frame) || !sheet.sent) return; // the empty page that every frame begins with
      sheet.loaded = true;
      shows(sheet);
    });
  };
  const layOut = ({ width, height, margin }, by) => {
    const paper = sheet.firstChild, frame = paper.firstChild;
    Object.assign(paper.style, { width: `${width * by}px`, height: `${height * by}px` });
    Object.assign(frame.style, {
      left: `${margin.left * by}px`, top: `${margin.top * by}px`, width: `${width - margin.left - margin.right}px`, height: `${height - margin.top - margin.bottom}px`, transform: `scale(${by})`,
    });
  };
  return {
    // fill shows the fields' HTML on a paper as soon as it is there.
    fill(fields, paper, by, shows) {
      if (!sheet?.isConnected) make(shows);
      layOut(paper, by);
      for (const [name, value] of Object.entries(fields)) form.elements[name].value = value;
      sheet.sent = true;
      form.submit();
    },
    get shown() { return Boolean(sheet?.isConnected && sheet.loaded); },
    remove() { sheet?.remove(); sheet = null; },
  };
};
