"""Answers of search engines in the place of runs, and what to write for each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

FIRST_MEMBERS = ("took", "timed_out", "_shards", "hits", "responses", "responseHeader", "response")
"""The members with which answers of ``_search``, ``_msearch`` and Solr begin."""

HIT = "hit['_id']: hit['_score'] for hit in"
DOC = "doc['id']: doc['score'] for doc in"


def of_queries(given: object) -> str | None:
    """What an object is, and what to write, if it is an answer of a search engine in the place of all queries."""
    if not isinstance(given, Mapping):
        return None
    if {"metric_score", "details"} <= {*given}:
        return "the answer of _rank_eval; write rf.read_run(io.StringIO(json.dumps(answer)))"
    if _listed(given, "responses"):
        each = f"{{query: {{{HIT} answer['hits']['hits']}} for query, answer in zip(queries, answers['responses'])}}"
        return f"the answer of _msearch, which does not name its queries; write rf.from_dicts(run={each})"
    if (one := of_one_query(given, "answer")) is not None:
        return f"the answer to one query, which it does not name; write rf.from_dicts(run={{query: {one}}})"
    return None


def of_one_query(given: object, name: str) -> str | None:
    """The dictionary of scores to write if an object, called `name`, is an answer or a list of hits; None for any other."""
    if isinstance(given, Mapping):
        if _listed(given.get("hits"), "hits"):
            return f"{{{HIT} {name}['hits']['hits']}}"
        return f"{{{DOC} {name}['response']['docs']}}" if _listed(given.get("response"), "docs") else None
    if not isinstance(given, Sequence) or isinstance(given, (str, bytes)) or not given:
        return None
    if all(isinstance(hit, Mapping) and "_id" in hit for hit in given):
        return f"{{{HIT} {name}}}"
    pairs = all(isinstance(pair, (tuple, list)) and len(pair) == 2 for pair in given)
    return f"dict({name})" if pairs else None


def _listed(given: object, name: str) -> bool:
    """Whether an object has a member of this name that is a list."""
    return isinstance(given, Mapping) and isinstance(given.get(name), list)
