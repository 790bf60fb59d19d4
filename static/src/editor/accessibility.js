// What prevents PDF/UA-1: the API's own warnings. The pages are tagged only while the list is open.

import { sourcesOf } from "./core/accessible.js";
import { goTo, lineOf, revision, text } from "./core/fields.js";
import { $, $$, code, stage } from "./core/page.js";
import { finds, placeOf } from "./core/places.js";
import { problem } from "./core/problems.js";

const accessible = $('[data-pane="accessible"]');
const summary = accessible && $("[role=status]", accessible);
let accessibleOf = 0; // the revision of the list

export const isAccessibilityOpen = () => accessible?.hidden === false;

// awaitAccessibility reports whether the list is older than the fields, and shows that it is being checked.
export const awaitAccessibility = () => {
  if (accessibleOf >= revision) return false;
  summary.textContent = "Checking…";
  return true;
};

// showAccessibility lists the warnings of a revision. Without warnings, it marks the list as outdated.
export const showAccessibility = (warnings, of) => {
  if (!accessible || of < accessibleOf) return;
  if (!warnings) {
    if (!accessible.hidden) summary.textContent = "Not updated since the error.";
    return;
  }

  accessibleOf = of;
  const findings = warnings.filter((warning) => warning.code === "standard_unmet");
  const errors = findings.filter(breaksUA).length;
  summary.textContent = errors
    ? `${errors} ${errors === 1 ? "error prevents" : "errors prevent"} PDF/UA-1.`
    : "No errors. The PDF can claim PDF/UA-1.";
  $("ul", accessible).replaceChildren(...findings.map(itemOf));
};

const breaksUA = ({ standards }) => Boolean(standards?.includes("ua-1"));

const itemOf = (finding) => {
  const sources = sourcesOf(finding, text("html"));
  const { page, element, text: content, problem: wrong, remedy } = finding;

  let where = `Page ${page}`;
  if (sources.length === 1) where = `Line ${lineOf(sources[0])}`;
  else if (sources.length) where = "Source";

  const name = [element, content && `"${content}"`].filter(Boolean).join(" ");
  const parts = [[wrong, remedy].filter(Boolean).join(" ")];
  if (name) parts.unshift(code(name), page ? `, page ${page}. ` : ". ");
  else if (page) parts.unshift(`Page ${page}. `);

  const go = sources.length || page ? () => goToFinding(finding) : null;
  return problem({ kind: breaksUA(finding) ? "e" : "w", parts, where, go });
};

const goToFinding = (finding) => {
  const sources = sourcesOf(finding, text("html"));
  if (sources.length === 1) return goTo(sources[0]);
  if (!sources.length) {
    const sheet = $$(".crop", stage)[finding.page - 1];
    sheet?.scrollIntoView({ block: "start" });
    return stage.focus({ preventScroll: true });
  }

  finds((places) => {
    const isThere = (from) => placeOf(places, lineOf(from))?.page === finding.page;
    goTo(sources.find(isThere) ?? sources[0]);
    return true;
  });
};
