/* Sphinx's scores, but pages for those who work on the library come after those for those who use it, and a metric found by another name is shown with its own. */
"use strict";

const BEHIND = ["adding", "changelog", "contributing", "design", "index", "guide", "performance", "versions", "what_import_does"];

var Scorer = {
  score: (result) => {
    const [page, title, anchor, , score, , kind] = result;
    if (kind === "index" && anchor) result[1] = `${title} > ${anchor.slice(1)}`;
    return BEHIND.includes(page) ? score / 10 : score;
  },
  objNameMatch: 11,
  objPartialMatch: 6,
  objPrio: { 0: 15, 1: 5, 2: -5 },
  objPrioDefault: 0,
  title: 15,
  partialTitle: 7,
  term: 5,
  partialTerm: 2,
};
