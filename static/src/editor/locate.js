// From a place on a page to its line in the HTML, and back.

import { cursorLine, goTo, views } from "./core/fields.js";
import { $$, element, sees, stage } from "./core/page.js";
import { finds, lineAt, placeOf } from "./core/places.js";

// startLocate makes a click on a page show its source.
export const startLocate = () => {
  if (!sees) return;
  stage.addEventListener("click", (event) => {
    const picture = event.target.closest(".paper img");
    if (picture) goToSource(picture, event);
  });
};

const goToSource = (picture, { clientX, clientY }) => {
  const box = picture.getBoundingClientRect();
  const page = $$(".paper img", stage).indexOf(picture) + 1;
  const x = (clientX - box.left) / box.width;
  const y = (clientY - box.top) / box.height;

  finds((places) => {
    const place = lineAt(places, page, x, y, box.height / box.width);
    const { doc } = views.html.state;
    if (!place || place.line > doc.lines) return false;
    goTo(doc.line(place.line).from);
    return true;
  });
};

// findOnPage marks where the line of the cursor is on its page.
export const findOnPage = () => {
  if (!sees) return;
  finds((places) => {
    const place = placeOf(places, cursorLine());
    const sheet = place && $$(".paper", stage)[place.page - 1];
    if (!sheet?.querySelector("img")) return false;

    const spot = element("div", { className: "spot" });
    spot.style.top = `${place.y * 100}%`;
    sheet.append(spot);
    spot.scrollIntoView({ block: "center" });
    return true;
  });
};
