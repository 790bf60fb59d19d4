// Which line of the source a place on a page comes from, and where a line has
// come to lie. A place is {line, page, x, y}; its page's sides are 1.

// lineAt finds the element that begins nearest above and to the left of a point.
// ratio is how much higher than wide the page is.
export const lineAt = (places, page, x, y, ratio) => {
  let best = null, least = Infinity;
  for (const place of places) {
    if (place.page !== page || place.y > y + .004 || place.x > x + .006) continue;
    const far = (y - place.y) * ratio + Math.max(0, x - place.x) * .5;
    if (far <= least) [best, least] = [place, far];
  }
  // What began on a page before goes on at the top of this one.
  return best ?? places.findLast((place) => place.page < page) ?? null;
};

// placeOf finds where the element lies that a line is in, or the nearest before it.
export const placeOf = (places, line) => {
  let best = null;
  for (const place of places) if (place.line <= line && (!best || place.line > best.line)) best = place;
  return best;
};
