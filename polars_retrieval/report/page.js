"use strict";
// The table of queries: only the rows of one page are in the document, so that any number of queries opens at once.
(() => {
  const PAGE = 25;
  const data = JSON.parse(document.getElementById("query-data").textContent);
  const at = (id) => document.getElementById(id);
  const [head, body, measure, text, show, status] =
    ["query-head", "query-body", "query-measure", "query-filter", "query-show", "query-status"].map(at);
  const natural = new Intl.Collator(undefined, { numeric: true });
  const count = data.ids[0].length;
  const state = { columns: [], rows: [], sorted: null, descending: false, page: 0 };

  const isMissing = (value) => value === null || value === undefined;
  const minus = (a, b) => (isMissing(a) || isMissing(b) ? null : a - b);

  // A column has a name, and the value of each query.
  function columns() {
    const values = data.values[measure.selectedIndex];
    const others = data.systems.map((_, number) => number).filter((number) => number !== data.baseline);
    const differences = data.baseline === null ? [] : others;
    return [
      ...data.names.map((name, number) => ({ name, kind: "id", of: data.ids[number] })),
      ...data.systems.map((name, number) => ({ name, kind: "value", of: values[number] })),
      ...differences.map((number) => ({
        name: `${data.systems[number]} − ${data.systems[data.baseline]}`,
        kind: "difference",
        of: values[number].map((value, query) => minus(value, values[data.baseline][query])),
      })),
    ];
  }

  function differs(query) {
    const of = state.columns.filter((column) => column.kind === "value").map((column) => column.of[query]);
    return of.some((value) => value !== of[0]);
  }

  function isShown(query, wanted) {
    const found = !wanted || data.ids.some((ids) => ids[query].toLowerCase().includes(wanted));
    return found && (show.value === "all" || differs(query));
  }

  function filter() {
    const wanted = text.value.trim().toLowerCase();
    state.rows = Array.from({ length: count }, (_, query) => query).filter((query) => isShown(query, wanted));
    sort();
  }

  // Queries without a value stay last, whichever way the others go.
  function sort() {
    const column = state.columns[state.sorted];
    if (column) {
      const sign = state.descending ? -1 : 1;
      const compare = column.kind === "id" ? natural.compare : (a, b) => a - b;
      state.rows.sort((a, b) => {
        const [left, right] = [column.of[a], column.of[b]];
        if (isMissing(left) || isMissing(right)) return isMissing(left) - isMissing(right) || a - b;
        return sign * compare(left, right) || a - b;
      });
    }
    state.page = 0;
    draw();
  }

  function sortBy(number) {
    const isNumber = state.columns[number].kind !== "id";
    state.descending = state.sorted === number ? !state.descending : isNumber;
    state.sorted = number;
    sort();
  }

  // Text is only ever set as text: an id may look like markup.
  function element(name, content, className) {
    const made = document.createElement(name);
    made.textContent = content;
    if (className) made.className = className;
    return made;
  }

  function header(column, number) {
    const cell = element("th", "", column.kind === "id" ? "" : "number");
    const button = element("button", column.name);
    const sorted = state.sorted === number;
    button.type = "button";
    button.addEventListener("click", () => {
      sortBy(number);
      head.rows[0].cells[number].firstChild.focus();
    });
    cell.scope = "col";
    cell.setAttribute("aria-sort", sorted ? (state.descending ? "descending" : "ascending") : "none");
    cell.append(button);
    return cell;
  }

  function shown(value, kind) {
    if (kind === "id") return value;
    if (isMissing(value)) return "–";
    const sign = kind === "difference" && value > 0 ? "+" : "";
    return sign + value.toFixed(4).replace(/^-(0\.0+)$/, "$1").replace("-", "−");
  }

  function cell(column, query) {
    const value = column.of[query];
    if (column.kind === "id") {
      const made = element("th", value, "id");
      made.scope = "row";
      return made;
    }
    const direction = data.higher[measure.selectedIndex] ? 1 : -1;
    const better = column.kind === "difference" && value ? (value * direction > 0 ? " better" : " worse") : "";
    return element("td", shown(value, column.kind), `number${better}`);
  }

  function draw() {
    const first = state.page * PAGE;
    const rows = state.rows.slice(first, first + PAGE);
    const row = element("tr", "");
    row.append(...state.columns.map(header));
    head.replaceChildren(row);
    body.replaceChildren(
      ...rows.map((query) => {
        const made = element("tr", "");
        made.append(...state.columns.map((column) => cell(column, query)));
        return made;
      })
    );
    const number = (value) => value.toLocaleString("en");
    const total = state.rows.length;
    const of = total === count ? `${number(count)} queries` : `${number(total)} found, of ${number(count)} queries`;
    status.textContent = total ? `${number(first + 1)} to ${number(first + rows.length)} of ${of}` : `None of ${of}`;
    at("query-previous").disabled = state.page === 0;
    at("query-next").disabled = first + PAGE >= total;
  }

  function turn(by) {
    state.page += by;
    draw();
  }

  function choose() {
    state.columns = columns();
    filter();
  }

  measure.addEventListener("change", choose);
  text.addEventListener("input", filter);
  show.addEventListener("change", filter);
  at("query-previous").addEventListener("click", () => turn(-1));
  at("query-next").addEventListener("click", () => turn(1));
  choose();
})();
