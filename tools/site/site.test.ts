/**
 * Goal: the documentation site is complete, leads nowhere that is not there, and asks no other host
 * for anything. Method: it is written to a temporary folder, and its search runs as in a browser.
 */
import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, posix } from "node:path";
import { after, before, describe, it } from "node:test";
import { createContext, runInContext } from "node:vm";
import { renderMarkdown } from "./render-markdown.ts";
import { writeSite } from "./site-pages.ts";

let folder = "";
const pages = new Map<string, string>();

before(async () => {
  folder = await mkdtemp(join(tmpdir(), "kcp-site-"));
  for (const path of await writeSite(folder))
    pages.set(path, await readFile(join(folder, path), "utf8"));
});
after(() => rm(folder, { recursive: true, force: true }));

const attribute = (html: string, name: string) =>
  [...html.matchAll(new RegExp(` ${name}="([^"]*)"`, "g"))].map(([, value = ""]) => value);

describe("the documentation site", () => {
  it("has a page for each document, and a landing page", () => {
    for (const path of ["index", "README", "docs/guides/drain", "docs/reference/kinds"])
      assert.ok(pages.has(`${path}.html`), path);
    assert.match(pages.get("index.html") ?? "", /npx kcp-ts start/);
  });

  it("has links that lead somewhere", () => {
    const ids = new Map([...pages].map(([path, html]) => [path, new Set(attribute(html, "id"))]));
    for (const [path, html] of pages)
      for (const target of attribute(html, "href")) {
        if (/^[a-z]+:/.test(target)) continue;
        const [file = "", anchor] = target.split("#");
        const to = file === "" ? path : posix.join(posix.dirname(path), file);
        assert.ok(existsSync(join(folder, to)), `${path} links to ${target}`);
        if (anchor !== undefined)
          assert.ok(ids.get(to)?.has(anchor), `${path} links to ${target}, which has no such part`);
      }
  });

  it("loads nothing from another host", () => {
    for (const [path, html] of pages) {
      const loaded = [
        ...attribute(html, "src"),
        ...(/<link[^>]*href="([^"]*)"/.exec(html)?.slice(1) ?? []),
      ];
      for (const source of loaded) {
        assert.doesNotMatch(source, /^(?:[a-z]+:)?\/\//, `${path} loads ${source}`);
        assert.ok(existsSync(join(folder, posix.dirname(path), source)), `${path}: ${source}`);
      }
    }
  });

  it("finds what a reader types", async () => {
    const answers: Readonly<Record<string, RegExp>> = {
      "cordon, drain and decommission": /^docs\/guides\/drain/,
      "--etcd-servers": /^(?:README|docs)/,
      "SyncTarget unreachable": /^docs\//,
      workspacetype: /^docs\/reference\/kinds\.html/,
    };
    for (const [query, expected] of Object.entries(answers)) {
      const [first] = await found(query);
      assert.match(first ?? "nothing", expected, query);
    }
    assert.deepEqual(await found("no-document-says-this"), []);
  });
});

/** Runs the site's own script, with as much of a page as it uses. */
async function found(query: string): Promise<readonly string[]> {
  const listeners = new Map<string, () => void>();
  const links: string[] = [];
  const element = () => ({ append: () => undefined });
  const results = { replaceChildren: () => undefined };
  const input = {
    value: query,
    addEventListener: (name: string, listener: () => void) => listeners.set(name, listener),
  };
  const document = {
    body: { dataset: { root: "" } },
    getElementById: (id: string) => (id === "search" ? input : results),
    addEventListener: () => undefined,
    createElement: (name: string) =>
      name !== "a"
        ? element()
        : Object.defineProperty(element(), "href", { set: (href: string) => links.push(href) }),
  };
  const context = createContext({ document });
  for (const name of ["search-index.js", "search.js"])
    runInContext(await readFile(join(folder, name), "utf8"), context);
  listeners.get("input")?.();
  return links;
}

describe("Markdown of the site", () => {
  const options = { linkTo: (target: string) => `/${target}`, anchorOf: () => "here" };
  const cases = [
    [
      "a `<b>` & [*c*](d.md)",
      '<p>a <code>&lt;b&gt;</code> &amp; <a href="/d.md"><em>c</em></a></p>',
    ],
    ["```sh\na <b>\n```", '<pre><code class="language-sh">a &lt;b&gt;</code></pre>'],
    ["- a\n  b\n- c\n  - d", "<ul><li>a\nb</li>\n<li>c\n<ul><li>d</li></ul></li></ul>"],
    ["2. a\n3. b", '<ol start="2"><li>a</li>\n<li>b</li></ol>'],
    ["    code", "<pre><code>code</code></pre>"],
    ["**a** b\\*", "<p><strong>a</strong> b*</p>"],
  ] as const;
  for (const [markdown, html] of cases)
    it(`renders ${markdown.replaceAll("\n", "⏎")}`, () => {
      assert.equal(renderMarkdown(markdown, options), html);
    });

  it("keeps bars of code in their cell", () => {
    const html = renderMarkdown("| a | b |\n|---|---|\n| `x \\| y` | z |", options);
    assert.match(html, /<td><code>x \| y<\/code><\/td><td>z<\/td>/);
  });

  it("shows what looks like HTML as text", () => {
    assert.equal(
      renderMarkdown("<script>a</script>", options),
      "<p>&lt;script&gt;a&lt;/script&gt;</p>",
    );
  });
});
