// The HTML of a draft as a browser shows it, in a frame that runs nothing, asks
// nobody and has no origin.

// framesIn makes frames in the stage. action takes the form with the named fields.
export const framesIn = (stage, action, names) => {
  let sheet = null;
  const form = Object.assign(document.createElement("form"), { method: "post", enctype: "multipart/form-data", action, target: "filled", hidden: true });
  for (const name of names) form.append(Object.assign(document.createElement("textarea"), { name }));
  document.body.append(form);

  const make = (shows) => {
    const frame = Object.assign(document.createElement("iframe"), { name: "filled", title: "HTML preview without page breaks", tabIndex: -1 });
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
