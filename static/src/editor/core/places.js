// Which line of the HTML a place on a page comes from, and where a line is on the pages. A place is {line, page, x, y};
// its page's sides are 1.

import { signedOut } from "./draft.js";
import { draft, readJSON, text } from "./fields.js";
import { $, stage, timing } from "./page.js";
import { originOf } from "./paper.js";
import { SignedOut, ask, messageOf } from "./server.js";

// lineAt finds the element that begins nearest above and to the left of a point. ratio is the height of the page in
// widths.
export const lineAt = (places, page, x, y, ratio) => {
  let best = null;
  let least = Infinity;
  for (const place of places) {
    if (place.page !== page || place.y > y + 0.004 || place.x > x + 0.006) continue;
    const far = (y - place.y) * ratio + Math.max(0, x - place.x) * 0.5;
    if (far <= least) {
      best = place;
      least = far;
    }
  }

  // What began on a page before continues at the top of this one.
  return best ?? places.findLast((place) => place.page < page) ?? null;
};

// placeOf finds the place of the element that a line is in, or of the nearest before it.
export const placeOf = (places, line) => {
  let best = null;
  for (const place of places) {
    if (place.line <= line && (!best || place.line > best.line)) best = place;
  }
  return best;
};

// The places are requested when the user asks for one, once for each state of the fields.
let placed = { body: "", list: null };

const placesOf = () => {
  const body = draft();
  if (placed.body === body) return placed.list;

  const list = load(body);
  list.catch(() => {
    if (placed.list === list) placed = { body: "", list: null };
  });
  placed = { body, list };
  return list;
};

const load = async (body) => {
  const answer = await ask("/pages?places=1", { body });
  if (!answer.ok) throw new Error((await messageOf(answer)).message);

  // The browser leaves the margins out.
  const [left, top] = originOf(readJSON("options") ?? {}, text("html"));
  const { places } = await answer.json();
  return places.map((place) => ({ ...place, x: place.x + left, y: place.y + top }));
};

// finds calls a function with the places of the fields. It returns false if nothing is there.
export const finds = async (find) => {
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
