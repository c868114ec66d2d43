
const made = (name, text = "", attributes = {}) => {
  const element = document.createElement(name)
  element.append(text)
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value)
  return element
}
const written = (value, sign = "") => value === null ? "" : (value > 0 ? sign : "") + value.toFixed(3)

class Explorer {
  constructor(facts) {
    this.facts = facts
    this.several = facts.runs.length > 1
    this.most = this.several ? "that differ most" : "with the worst values"
    this.other = this.several ? 1 : 0
    this.chosen = 0
    this.chosenSlices = facts.slices.map(() => null)
    this.text = ""
    this.queries = facts.queries.map(([name, place, slices, values, documents]) => {
      const n = facts.runs.length + 2
      const ranked = documents.map(document => ({ name: document[0], label: document[1], ranks: document.slice(2, n), shown: document.slice(n) }))
      return { name, place, slices, values, documents: ranked }
    })
    this.table = document.querySelector("#queries table")
    this.panel = document.getElementById("query")
    for (const element of document.querySelectorAll(".explore")) element.hidden = false
    this.addFilters()
    this.addHeads()
    this.rows = this.queries.map((query, i) => this.rowOf(query, i))
    this.table.tBodies[0].append(...this.rows)
    this.compareWith(this.other)
    this.addBars()
    addEventListener("hashchange", () => this.showLinked())
    if (!this.showLinked()) this.show(0)
  }

  difference(query, run = this.other) {
    const [before, after] = [query.values[0], query.values[run]]
    return before === null || after === null ? null : after - before
  }

  addFilters() {
    const filters = document.querySelector("#queries .filters")
    if (this.facts.runs.length > 2) {
      const select = made("select")
      this.facts.runs.slice(1).forEach((run, i) => select.append(made("option", run, { value: i + 1 })))
      select.addEventListener("change", () => this.compareWith(+select.value))
      filters.append(labelled(`${this.facts.runs[0]} against`, select))
    }
    this.facts.slices.forEach((slice, i) => {
      const values = [...new Set(this.queries.map(query => query.slices[i]))]
      const select = made("select")
      select.append(made("option", "all", { value: "" }))
      values.sort(new Intl.Collator(undefined, { numeric: true }).compare)
      values.forEach((value, j) => select.append(made("option", value, { value: j })))
      select.addEventListener("change", () => {
        this.chosenSlices[i] = select.value === "" ? null : values[select.value]
        this.filter()
      })
      filters.append(labelled(slice, select))
    })
    const search = made("input", "", { type: "search", size: 12 })
    search.addEventListener("input", () => { this.text = search.value.toLowerCase(); this.filter() })
    this.count = made("output")
    filters.append(labelled("query", search), this.count)
  }

  addHeads() {
    const number = { scope: "col", class: "number" }
    const named = name => made("span", name, name.length < 15 ? { class: "whole" } : {})
    const heads = [made("th", named("query"), { scope: "col" })]
    if (this.several) heads.push(made("th", named("difference"), number))
    heads.push(...this.facts.slices.map(slice => made("th", named(slice), { scope: "col" })))
    const values = this.several ? this.facts.runs : [this.facts.metric]
    heads.push(...values.map(name => made("th", named(name), number)))
    this.table.tHead.rows[0].append(...heads)
  }

  rowOf(query, i) {
    const row = made("tr")
    const link = made("a", query.name, { href: `#query-${i}` })
    link.addEventListener("click", event => { event.preventDefault(); this.go(i) })
    row.append(made("td", link))
    if (this.several) row.append(made("td", "", { class: "number difference" }))
    row.append(...query.slices.map(slice => made("td", slice)))
    for (const value of query.values) {
      const number = value === null ? {} : { "data-number": value }
      row.append(made("td", written(value), { class: "number", ...number }))
    }
    return row
  }

  compareWith(run) {
    this.other = run
    this.rows.forEach((row, i) => {
      const difference = this.difference(this.queries[i])
      const cell = row.querySelector(".difference")
      if (!cell) return
      cell.textContent = written(difference, "+")
      if (difference === null) delete cell.dataset.number
      else cell.dataset.number = difference
    })
    this.filter()
    this.show(this.chosen)
  }

  filter() {
    const matches = query => query.name.toLowerCase().includes(this.text)
      && query.slices.every((slice, i) => this.chosenSlices[i] === null || slice === this.chosenSlices[i])
    this.queries.forEach((query, i) => { this.rows[i].hidden = !matches(query) })
    const shown = this.rows.filter(row => !row.hidden).length
    const listed = this.rows.length
    const { n } = this.facts
    this.count.textContent = `${shown} of ${listed} queries` + (listed < n ? `, those ${this.most} of ${n.toLocaleString("en")}` : "")
  }

  addBars() {
    const svg = document.querySelector(".differences svg:has(.mark-rect)")
    const bars = svg ? [...svg.querySelectorAll(".mark-rect path")] : []
    if (!bars.length || this.facts.runs.length !== 2 || bars.length !== Math.min(this.facts.paired, this.facts.bars)) return
    this.bars = bars
    const ofBars = new Map()
    this.queries.forEach((query, i) => {  // the list begins with the largest differences
      if (query.place === null) return
      const bar = Math.floor(query.place * bars.length / this.facts.paired)
      if (!ofBars.has(bar)) ofBars.set(bar, i)
      query.bar = bars[bar]
    })
    const queryAt = x => ofBars.get(bars.findIndex(bar => {
      const box = bar.getBoundingClientRect()
      return box.left <= x && x <= box.right
    }))
    const hint = made("p", "", { class: "hint" })
    const invite = () => { hint.textContent = "Click on a bar to see its query." }
    document.querySelector(".differences figcaption").append(hint)
    invite()
    svg.addEventListener("mousemove", event => {
      const i = queryAt(event.clientX)
      svg.style.cursor = i === undefined ? "" : "pointer"
      if (i === undefined) invite()
      else hint.textContent = `${this.queries[i].name}: ${written(this.difference(this.queries[i]), "+")}`
    })
    svg.addEventListener("mouseleave", invite)
    svg.addEventListener("click", event => {
      const i = queryAt(event.clientX)
      if (i !== undefined) this.go(i)
    })
  }

  showLinked() {
    const i = Number(/^#query-(\d+)$/.exec(location.hash)?.[1] ?? NaN)
    if (!(i in this.queries)) return false
    this.show(i)
    this.panel.scrollIntoView({ block: "nearest" })
    return true
  }

  go(i) {
    if (location.hash === `#query-${i}`) this.showLinked()
    else location.hash = `query-${i}`
  }

  show(i) {
    if (!(i in this.queries)) return
    this.rows[this.chosen].removeAttribute("aria-current")
    this.queries[this.chosen].bar?.classList.remove("chosen")
    this.chosen = i
    this.rows[i].setAttribute("aria-current", "true")
    const query = this.queries[i]
    query.bar?.classList.add("chosen")
    const values = this.sides().map(run => `${this.facts.runs[run]} ${written(query.values[run])}`)
    const value = this.several ? `${this.facts.metric}: ${values.join(", ")}` : `${this.facts.metric} ${written(query.values[0])}`
    const said = [...this.facts.slices.map((slice, j) => `${slice} ${query.slices[j]}`), value]
    const difference = this.several ? this.difference(query) : null
    if (difference !== null) said.push(`difference ${written(difference, "+")}`)
    const parts = [made("h3", query.name), made("p", said.join("; "), { class: "faint" })]
    if (query.documents.length) parts.push(this.rankings(query), made("p", this.explained(), { class: "faint" }))
    else if (this.facts.ranked) parts.push(made("p", `The page has the rankings of the ${this.facts.ranked} queries ${this.most}.`))
    this.panel.replaceChildren(...parts)
  }

  sides() { return this.several ? [0, this.other] : [0] }

  explained() {
    const bold = `Bold: label ${this.facts.relevant} or more.`
    const shown = ["its label", ...this.facts.show].join(", ")
    if (!this.several) return `${bold} Below each document: ${shown}.`
    return `${bold} Below each document: ${shown}, and its rank in ${this.facts.runs[0]} → in ${this.facts.runs[this.other]}.`
  }

  rankings(query) {
    const table = made("table", "", { class: "rankings" })
    const head = made("tr", made("th", "rank", { class: "number" }))
    this.sides().forEach(run => head.append(made("th", this.facts.runs[run])))
    const body = made("tbody")
    for (let rank = 1; rank <= this.facts.shown; rank++) {
      const there = this.sides().map(run => query.documents.find(document => document.ranks[run] === rank))
      if (there.every(document => !document)) continue
      const row = made("tr", made("td", rank, { class: "number" }))
      row.append(...there.map(document => document ? this.cellOf(document) : made("td")))
      body.append(row)
    }
    const thead = made("thead", head)
    table.append(thead, body)
    return made("div", table, { class: "table" })
  }

  cellOf({ name, label, ranks, shown }) {
    const isRelevant = label !== null && label >= this.facts.relevant
    const cell = made("td", made(isRelevant ? "strong" : "span", name))
    const below = made("small", [label === null ? "not judged" : `label ${label}`, ...shown].join(" · "))
    cell.append(below)
    if (this.several) below.append(" · ", this.moveOf(ranks[0], ranks[this.other], isRelevant))
    return cell
  }

  moveOf(before, after, isRelevant) {
    const ends = `${before ?? "none"} → ${after ?? "none"}`
    const up = (before ?? Infinity) - (after ?? Infinity)
    const sign = up > 0 ? " ▲" : up < 0 ? " ▼" : ""
    const tone = !isRelevant || !sign ? "" : up > 0 ? "passed" : "failed"
    return made("span", ends + sign, { class: `whole ${tone}` })
  }
}

function labelled(text, control) {
  const label = made("label", `${text} `)
  label.append(control)
  return label
}

new Explorer(JSON.parse(document.getElementById("explored").textContent))


for (const table of document.querySelectorAll("table.sortable")) {
  const body = table.tBodies[0], given = [...body.rows], heads = [...table.tHead.rows[0].cells]
  const compare = new Intl.Collator(undefined, { numeric: true }).compare
  const sorted = (column, sign) => {
    const cells = given.map(row => ({ row, text: row.cells[column].textContent.trim(), number: row.cells[column].dataset.number }))
    const numbers = cells.some(cell => cell.number !== undefined)
    const filled = cell => numbers ? cell.number !== undefined : cell.text !== ""
    const order = (a, b) => sign * (numbers ? a.number - b.number : compare(a.text, b.text))
    return [...cells.filter(filled).sort(order), ...cells.filter(cell => !filled(cell))].map(cell => cell.row)
  }
  heads.forEach((head, column) => {
    const button = document.createElement("button")
    button.type = "button"
    button.append(...head.childNodes)
    head.append(button)
    button.addEventListener("click", () => {
      const next = { none: "ascending", ascending: "descending", descending: "none" }[head.ariaSort ?? "none"]
      heads.forEach(other => other.setAttribute("aria-sort", other === head ? next : "none"))
      body.append(...(next === "none" ? given : sorted(column, next === "ascending" ? 1 : -1)))
    })
    head.setAttribute("aria-sort", "none")
  })
}
