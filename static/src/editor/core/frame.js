// The HTML of a draft as a browser shows it, in a frame that runs nothing, requests nothing and has no origin.

import { element } from "./page.js";

// createHTMLFrame makes frames in the stage. action takes the form with the named fields.
export const createHTMLFrame = (stage, action, names) => {
  let sheet = null;
  const form = element("form", {
    method: "post",
    enctype: "multipart/form-data",
    action,
    target: "filled",
    hidden: true,
  });
  for (const name of names) form.append(element("textarea", { name }));
  document.body.append(form);

  const createSheet = (onLoad) => {
    const frame = element("iframe", { name: "filled", title: "HTML preview without page breaks", tabIndex: -1 });
    frame.setAttribute("sandbox", "");

    const paper = element("div", { className: "paper" }, frame);
    sheet = element("div", { className: "crop instant", hidden: true }, paper);
    sheet.loaded = false;
    stage.append(sheet);

    frame.addEventListener("load", () => {
      if (!sheet?.contains(frame) || !sheet.sent) return; // the empty page that every frame begins with
      sheet.loaded = true;
      onLoad(sheet);
    });
  };

  const layOut = ({ width, height, margin }, scale) => {
    const paper = sheet.firstChild;
    const frame = paper.firstChild;
    Object.assign(paper.style, { width: `${width * scale}px`, height: `${height * scale}px` });
    Object.assign(frame.style, {
      left: `${margin.left * scale}px`,
      top: `${margin.top * scale}px`,
      width: `${width - margin.left - margin.right}px`,
      height: `${height - margin.top - margin.bottom}px`,
      transform: `scale(${scale})`,
    });
  };

  return {
    // fill shows the fields' HTML on a paper as soon as it is there.
    fill(fields, paper, scale, onLoad) {
      if (!sheet?.isConnected) createSheet(onLoad);
      layOut(paper, scale);

      for (const [name, value] of Object.entries(fields)) form.elements[name].value = value;
      sheet.sent = true;
      form.submit();
    },
    get shown() {
      return Boolean(sheet?.isConnected && sheet.loaded);
    },
    remove() {
      sheet?.remove();
      sheet = null;
    },
  };
};
