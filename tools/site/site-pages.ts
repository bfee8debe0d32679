/**
 * The documentation site: every document as a page, the navigation of the front page's reading
 * paths, and a search index. Nothing of it comes from elsewhere, and it works from files.
 */
import { existsSync } from "node:fs";
import { cp, mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { dirname, join, posix } from "node:path";
import { anchors, links } from "../docs/markdown.ts";
import { escapeHtml, renderMarkdown } from "./render-markdown.ts";
import { landing } from "./site-landing.ts";

const rootDocuments = [
  "README.md",
  "ARCHITECTURE.md",
  "CONTRIBUTING.md",
  "CHANGELOG.md",
  "SECURITY.md",
];
const frontPage = "docs/README.md";
const assets = ["site.css", "search.js"];

export interface NavigationGroup {
  readonly title: string;
  readonly pages: readonly { readonly title: string; readonly path: string }[];
}

/** Written into the folder, which is emptied first. The paths of the pages. */
export async function writeSite(folder: string): Promise<readonly string[]> {
  await rm(folder, { recursive: true, force: true });
  const texts = await readDocuments();
  const navigation = navigationOf(texts.get(frontPage) ?? "");
  const pages = new Map<string, string>();
  const entries: SearchEntry[] = [];
  for (const [path, markdown] of texts) {
    const title = titleOf(markdown);
    const href = pageOf(path);
    const html = renderMarkdown(markdown, {
      linkTo: (target) => linkFrom(path, target),
      anchorOf: anchorsInOrder(markdown),
    });
    pages.set(href, layout({ href, title, body: html, navigation }));
    entries.push(...searchEntries(href, title, markdown));
  }
  const home = { href: "index.html", title: "kcp in TypeScript", body: landing(), navigation };
  pages.set("index.html", layout(home));
  for (const [href, text] of pages) await write(join(folder, href), text);
  await write(join(folder, "search-index.js"), `globalThis.searchIndex = ${json(entries)};\n`);
  const source = "tools/site";
  for (const name of assets) await cp(join(source, name), join(folder, name));
  await cp("docs/images", join(folder, "docs/images"), { recursive: true });
  for (const file of linkedFiles(texts)) await copyFile(file, join(folder, "files", `${file}.txt`));
  return [...pages.keys()];
}

async function readDocuments(): Promise<ReadonlyMap<string, string>> {
  const names = await readdir("docs", { recursive: true });
  const documents = names.filter((name) => name.endsWith(".md")).map((name) => `docs/${name}`);
  const paths = [...rootDocuments, ...documents.sort()];
  const read = paths.map(async (path) => [path, await readFile(path, "utf8")] as const);
  return new Map(await Promise.all(read));
}

async function write(path: string, text: string): Promise<void> {
  await mkdir(dirname(path), { recursive: true });
  await writeFile(path, text);
}

async function copyFile(from: string, to: string): Promise<void> {
  await mkdir(dirname(to), { recursive: true });
  await cp(from, to);
}

function titleOf(markdown: string): string {
  return (/^# +(.*)$/m.exec(markdown)?.[1] ?? "").replaceAll("`", "");
}

/** `docs/guides/drain.md` is `docs/guides/drain.html`. */
function pageOf(path: string): string {
  return path.replace(/\.md$/, ".html");
}

/** A link in a document, as seen from its page. */
function linkFrom(path: string, target: string): string {
  if (/^[a-z]+:/.test(target) || target.startsWith("#")) return target;
  const [file = "", anchor] = target.split("#");
  const meant = posix.join(posix.dirname(path), file);
  const hash = anchor === undefined ? "" : `#${anchor}`;
  const to = meant.endsWith(".md")
    ? pageOf(meant)
    : meant.startsWith("docs/images/")
      ? meant
      : existsSync(join(meant, "README.md"))
        ? pageOf(posix.join(meant, "README.md"))
        : `files/${meant}.txt`;
  return `${posix.relative(posix.dirname(path), to)}${hash}`;
}

/** Files of the repository that documents link to: readable without it. */
function linkedFiles(texts: ReadonlyMap<string, string>): ReadonlySet<string> {
  const found = new Set<string>();
  for (const [path, text] of texts)
    for (const { target } of links(text)) {
      if (/^[a-z]+:|^#/.test(target)) continue;
      const meant = posix.join(posix.dirname(path), target.split("#")[0] ?? "");
      const isPage = meant.endsWith(".md") || existsSync(join(meant, "README.md"));
      if (!isPage && !meant.startsWith("docs/images/")) found.add(meant);
    }
  return found;
}

function anchorsInOrder(markdown: string): () => string {
  const names = [...anchors(markdown)];
  return () => names.shift() ?? "";
}

/** The lists of the front page, in their order. */
export function navigationOf(front: string): readonly NavigationGroup[] {
  return front
    .split(/^## /m)
    .slice(1)
    .map((section) => {
      const [title = ""] = section.split("\n");
      const seen = new Set<string>();
      const pages = links(section).flatMap(({ target }) => {
        const path = posix.join("docs", target.split("#")[0] ?? "");
        if (!path.endsWith(".md") || seen.has(path)) return [];
        seen.add(path);
        return [{ title: labelOf(section, target), path: pageOf(path) }];
      });
      return { title, pages };
    });
}

function labelOf(section: string, target: string): string {
  const at = section.indexOf(`](${target})`);
  const label = section.slice(section.lastIndexOf("[", at) + 1, at).replace(/\s+/g, " ");
  return label.charAt(0).toUpperCase() + label.slice(1);
}

interface SearchEntry {
  readonly href: string;
  readonly page: string;
  readonly heading: string;
  readonly text: string;
}

/** One for each section. Generated references are found by their headings alone. */
function searchEntries(href: string, page: string, markdown: string): readonly SearchEntry[] {
  const nextAnchor = anchorsInOrder(markdown);
  const isReference = href.startsWith("docs/reference/");
  const sections = markdown.replace(/^```[\s\S]*?^```[ \t]*$/gm, codeWords).split(/^#{1,6} +/m);
  return sections.slice(1).map((section) => {
    const [heading = "", ...rest] = section.split("\n");
    const text = isReference ? "" : rest.join(" ").replace(/[`*|#[\]]|\([^)]*\)/g, " ");
    return {
      href: `${href}#${nextAnchor()}`,
      page,
      heading: heading.replaceAll("`", ""),
      text: text.replace(/\s+/g, " ").trim(),
    };
  });
}

/** Commands are searched for; a hash in them is no heading. */
function codeWords(block: string): string {
  return block.replace(/^#/gm, " #").replace(/^```.*$/gm, "");
}

function json(value: unknown): string {
  return JSON.stringify(value).replaceAll("<", "\\u003c");
}

interface Page {
  readonly href: string;
  readonly title: string;
  readonly body: string;
  readonly navigation: readonly NavigationGroup[];
}

function layout({ href, title, body, navigation }: Page): string {
  const to = (path: string) => posix.relative(posix.dirname(href), path);
  const groups = navigation
    .map(({ title: name, pages }) => {
      const items = pages.map(({ title: label, path }) => {
        const current = path === href ? ' aria-current="page"' : "";
        return `<li><a href="${escapeHtml(to(path))}"${current}>${escapeHtml(label)}</a></li>`;
      });
      const isOpen = pages.some(({ path }) => path === href) ? " open" : "";
      return `<details${isOpen}><summary>${escapeHtml(name)}</summary><ul>${items.join("")}</ul></details>`;
    })
    .join("");
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; img-src 'self'; style-src 'self'; script-src 'self'; base-uri 'none'; form-action 'none'">
<title>${escapeHtml(title)}</title>
<link rel="stylesheet" href="${to("site.css")}">
</head>
<body data-root="${escapeHtml(to("index.html").replace(/index\.html$/, ""))}">
<a class="skip" href="#content">Skip to the content</a>
<header><a class="home" href="${to("index.html")}">kcp in TypeScript</a>
<label class="search">Search <input id="search" type="search" autocomplete="off" placeholder="drain, --etcd-servers, SyncTarget"></label></header>
<ol id="results" aria-live="polite"></ol>
<div class="columns"><nav aria-label="Documents">${groups}</nav>
<main id="content">${body}</main></div>
<script src="${to("search-index.js")}"></script>
<script src="${to("search.js")}"></script>
</body>
</html>
`;
}
