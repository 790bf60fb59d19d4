// What prevents PDF/UA-1: the API's own warnings. The pages are tagged only while the list is open.

import { sourceOffsets } from "./core/sources.js";
import { getText, lineOf, revision, showSource } from "./core/fields.js";
import { $, $$, codeElement, stage } from "./core/page.js";
import { positionOfLine, withPositions } from "./core/positions.js";
import { problemItem } from "./core/problems.js";

const pane = $('[data-pane="accessible"]');
const summary = pane && $("[role=status]", pane);
let listRevision = 0;

export const isAccessibilityOpen = () => pane?.hidden === false;

// isAccessibilityOutdated reports whether the list is older than the fields, and shows that it is being checked.
export const isAccessibilityOutdated = () => {
  if (listRevision >= revision) return false;
  summary.textContent = "Checking…";
  return true;
};

// showAccessibility lists the warnings of a revision. Without warnings, it marks the list as outdated.
export const showAccessibility = (warnings, resultRevision) => {
  if (!pane || resultRevision < listRevision) return;
  if (!warnings) {
    if (!pane.hidden) summary.textContent = "Not updated since the error.";
    return;
  }

  listRevision = resultRevision;
  const findings = warnings.filter((warning) => warning.code === "standard_unmet");
  const errors = findings.filter(preventsUA).length;
  summary.textContent = errors
    ? `${errors} ${errors === 1 ? "error prevents" : "errors prevent"} PDF/UA-1.`
    : "No errors. The PDF can claim PDF/UA-1.";
  $("ul", pane).replaceChildren(...findings.map(findingItem));
};

const preventsUA = ({ standards }) => Boolean(standards?.includes("ua-1"));

const findingItem = (finding) => {
  const offsets = sourceOffsets(finding, getText("html"));
  const { page, element, text: content, problem: message, remedy } = finding;

  let linkText = `Page ${page}`;
  if (offsets.length === 1) linkText = `Line ${lineOf(offsets[0])}`;
  else if (offsets.length) linkText = "Source";

  const name = [element, content && `"${content}"`].filter(Boolean).join(" ");
  const parts = [[message, remedy].filter(Boolean).join(" ")];
  if (name) parts.unshift(codeElement(name), page ? `, page ${page}. ` : ". ");
  else if (page) parts.unshift(`Page ${page}. `);

  const action = offsets.length || page ? () => showFinding(finding) : null;
  return problemItem({ kind: preventsUA(finding) ? "error" : "warning", parts, linkText, action });
};

const showFinding = (finding) => {
  const offsets = sourceOffsets(finding, getText("html"));
  if (offsets.length === 1) return showSource(offsets[0]);
  if (!offsets.length) {
    const sheet = $$(".crop", stage)[finding.page - 1];
    sheet?.scrollIntoView({ block: "start" });
    return stage.focus({ preventScroll: true });
  }

  withPositions((positions) => {
    const isOnPage = (from) => positionOfLine(positions, lineOf(from))?.page === finding.page;
    showSource(offsets.find(isOnPage) ?? offsets[0]);
    return true;
  });
};
