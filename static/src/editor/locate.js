// From a place on a page to its line in the HTML, and back.

import { cursorLine, showSource, views } from "./core/fields.js";
import { $$, canPreview, element, stage } from "./core/page.js";
import { positionAt, positionOfLine, withPositions } from "./core/positions.js";

// startLocate makes a click on a page show its source.
export const startLocate = () => {
  if (!canPreview) return;
  stage.addEventListener("click", (event) => {
    const image = event.target.closest(".paper img");
    if (image) goToSource(image, event);
  });
};

const goToSource = (image, { clientX, clientY }) => {
  const box = image.getBoundingClientRect();
  const page = $$(".paper img", stage).indexOf(image) + 1;
  const x = (clientX - box.left) / box.width;
  const y = (clientY - box.top) / box.height;

  withPositions((positions) => {
    const position = positionAt(positions, page, x, y, box.height / box.width);
    const { doc } = views.html.state;
    if (!position || position.line > doc.lines) return false;
    showSource(doc.line(position.line).from);
    return true;
  });
};

// showOnPage marks where the line of the cursor is on its page.
export const showOnPage = () => {
  if (!canPreview) return;
  withPositions((positions) => {
    const position = positionOfLine(positions, cursorLine());
    const sheet = position && $$(".paper", stage)[position.page - 1];
    if (!sheet?.querySelector("img")) return false;

    const marker = element("div", { className: "spot" });
    marker.style.top = `${position.y * 100}%`;
    sheet.append(marker);
    marker.scrollIntoView({ block: "center" });
    return true;
  });
};
