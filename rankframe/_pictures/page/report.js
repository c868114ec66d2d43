
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
