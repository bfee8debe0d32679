// Sections that have every word: those in headings first, then those with the words more often.
const input = document.getElementById("search");
const results = document.getElementById("results");
const root = document.body.dataset.root;
const shownMax = 12;

function find(query) {
  const typed = query.toLowerCase().split(/\s+/).filter(Boolean);
  // Small words are everywhere.
  const long = typed.filter((word) => word.length > 2);
  const words = long.length > 0 ? long : typed;
  if (words.length === 0) return [];
  return globalThis.searchIndex
    .map((entry) => ({ entry, score: scoreOf(entry, words) }))
    .filter(({ score }) => score > 0)
    .sort((a, b) => b.score - a.score)
    .slice(0, shownMax)
    .map(({ entry }) => entry);
}

/** What users read comes before the records of decisions and the map of the code. */
const late = /^docs\/(?:adr|internals)\/|^(?:ARCHITECTURE|CONTRIBUTING|CHANGELOG)/;

function scoreOf({ href, page, heading, text }, words) {
  const title = `${page} ${heading}`.toLowerCase();
  const body = text.toLowerCase();
  let score = 0;
  for (const word of words) {
    const inHeading = heading.toLowerCase().includes(word) ? 40 : 0;
    const inTitle = title.includes(word) ? 20 : 0;
    const inBody = Math.min(body.split(word).length - 1, 9);
    if (inTitle + inBody === 0) return 0;
    score += inHeading + inTitle + inBody;
  }
  return late.test(href) ? score / 4 : score;
}

function excerpt({ text }, query) {
  const [word = ""] = query.toLowerCase().split(/\s+/);
  const at = Math.max(0, text.toLowerCase().indexOf(word) - 50);
  return text.slice(at, at + 140);
}

function show() {
  const query = input.value.trim();
  results.replaceChildren(
    ...find(query).map((entry) => {
      const item = document.createElement("li");
      const link = document.createElement("a");
      link.href = root + entry.href;
      link.textContent =
        entry.page === entry.heading ? entry.page : `${entry.page}: ${entry.heading}`;
      const text = document.createElement("small");
      text.textContent = ` ${excerpt(entry, query)}`;
      item.append(link, text);
      return item;
    }),
  );
}

input.addEventListener("input", show);
document.addEventListener("keydown", (event) => {
  if (event.key !== "/" || event.target === input) return;
  event.preventDefault();
  input.focus();
});
