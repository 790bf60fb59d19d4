// The positions of the HTML's elements on the pages: {line, page, x, y}, where the sides of a page are 1.

import { handleSessionEnd } from "./draft.js";
import { draftBody, getText, readObject } from "./fields.js";
import { $, previewStatus, stage } from "./page.js";
import { originOf } from "./paper.js";
import { SessionEndedError, errorOf, request } from "./server.js";

// positionAt returns that of the element that begins nearest above and to the left of a point. ratio is the height of
// the page in widths.
export const positionAt = (positions, page, x, y, ratio) => {
  let nearest = null;
  let minDistance = Infinity;
  for (const position of positions) {
    if (position.page !== page || position.y > y + 0.004 || position.x > x + 0.006) continue;
    const distance = (y - position.y) * ratio + Math.max(0, x - position.x) * 0.5;
    if (distance <= minDistance) {
      nearest = position;
      minDistance = distance;
    }
  }

  // What began on a page before continues at the top of this one.
  return nearest ?? positions.findLast((position) => position.page < page) ?? null;
};

// positionOfLine returns that of the element that a line is in, or of the nearest before it.
export const positionOfLine = (positions, line) => {
  let nearest = null;
  for (const position of positions) {
    if (position.line <= line && (!nearest || position.line > nearest.line)) nearest = position;
  }
  return nearest;
};

// Positions are requested when the user looks for one, once for each state of the fields.
let cached = { body: "", promise: null };

const getPositions = () => {
  const body = draftBody();
  if (cached.body === body) return cached.promise;

  const promise = loadPositions(body);
  promise.catch(() => {
    if (cached.promise === promise) cached = { body: "", promise: null };
  });
  cached = { body, promise };
  return promise;
};

const loadPositions = async (body) => {
  const response = await request("/pages?places=1", { body });
  if (!response.ok) throw new Error((await errorOf(response)).message);

  // The browser leaves the margins out.
  const [left, top] = originOf(readObject("options") ?? {}, getText("html"));
  const { places: positions } = await response.json();
  return positions.map((position) => ({ ...position, x: position.x + left, y: position.y + top }));
};

// withPositions calls a function with the positions of the HTML's elements. The function returns false if it shows
// none.
export const withPositions = async (show) => {
  $(".spot", stage)?.remove();
  stage.setAttribute("aria-busy", "true");
  try {
    if (!show(await getPositions())) previewStatus.textContent = "No line of the template matches this position";
  } catch (error) {
    if (error instanceof SessionEndedError) handleSessionEnd();
    else previewStatus.textContent = error.message;
  } finally {
    stage.removeAttribute("aria-busy");
  }
};
