/* The scores of Sphinx's search, but pages for those who work on the library stand below those for those who use it. */
"use strict";

const BEHIND = ["adding", "changelog", "contributing", "design", "index", "guide", "performance", "versions", "what_import_does"];

var Scorer = {
  score: ([page, title, anchor, descr, score]) => (BEHIND.includes(page) ? score / 10 : score),
  objNameMatch: 11,
  objPartialMatch: 6,
  objPrio: { 0: 15, 1: 5, 2: -5 },
  objPrioDefault: 0,
  title: 15,
  partialTitle: 7,
  term: 5,
  partialTerm: 2,
};
