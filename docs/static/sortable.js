/* Tables marked by <div class="sortable"></div> before them: a heading sorts by its column.
   Without scripts they are plain tables. */
"use strict";

function sortKey(cell) {
  const text = cell.textContent.trim();
  const figure = text.replaceAll(",", "").match(/^-?\d+(\.\d+)?/);
  return figure ? Number(figure[0]) : text;
}

function compare(one, other) {
  const [a, b] = [typeof one === "number", typeof other === "number"];
  if (a && b) return one - other;
  if (a !== b) return a ? -1 : 1; /* figures before words */
  return one.localeCompare(other);
}

function sortBy(table, column) {
  const heads = [...table.tHead.rows[0].cells];
  const falling = heads[column].getAttribute("aria-sort") === "ascending";
  heads.forEach((head) => head.removeAttribute("aria-sort"));
  heads[column].setAttribute("aria-sort", falling ? "descending" : "ascending");
  const body = table.tBodies[0];
  const rows = [...body.rows].map((row) => [sortKey(row.cells[column]), row]);
  rows.sort((one, other) => (falling ? -1 : 1) * compare(one[0], other[0]));
  body.append(...rows.map((row) => row[1]));
}

document.addEventListener("DOMContentLoaded", () => {
  for (const mark of document.querySelectorAll("div.sortable")) {
    const next = mark.nextElementSibling;
    const table = next && (next.matches("table") ? next : next.querySelector("table"));
    if (!table || !table.tHead) continue;
    [...table.tHead.rows[0].cells].forEach((head, column) => {
      const button = document.createElement("button");
      button.type = "button";
      button.className = "sort";
      button.append(...head.childNodes);
      button.addEventListener("click", () => sortBy(table, column));
      head.append(button);
    });
  }
});
