/** Markdown as the documents of this repository use it, to HTML. What looks like HTML is text. */

export interface RenderOptions {
  /** What the target of a link or an image is in the site. */
  readonly linkTo: (target: string) => string;
  /** The anchor of the next heading with this text. */
  readonly anchorOf: (heading: string) => string;
}

export function renderMarkdown(markdown: string, options: RenderOptions): string {
  return blocks(markdown.split("\n"), options);
}

type Rule = (lines: readonly string[], at: number, options: RenderOptions) => Block | undefined;

interface Block {
  readonly html: string;
  /** The line after the block. */
  readonly end: number;
}

const rules: readonly Rule[] = [fence, heading, table, list, indentedCode, paragraph];

function blocks(lines: readonly string[], options: RenderOptions): string {
  const html: string[] = [];
  for (let at = 0; at < lines.length; ) {
    if (lines[at]?.trim() === "") {
      at++;
      continue;
    }
    for (const rule of rules) {
      const block = rule(lines, at, options);
      if (block === undefined) continue;
      html.push(block.html);
      at = block.end;
      break;
    }
  }
  return html.join("\n");
}

function fence(lines: readonly string[], at: number): Block | undefined {
  const [, marks, language = ""] = /^(```+)\s*(\S*)/.exec(lines[at] ?? "") ?? [];
  if (marks === undefined) return undefined;
  const end = lines.findIndex((line, other) => other > at && line.trimEnd() === marks);
  const text = lines.slice(at + 1, end === -1 ? lines.length : end).join("\n");
  const kind = language === "" ? "" : ` class="language-${escapeHtml(language)}"`;
  return {
    html: `<pre><code${kind}>${escapeHtml(text)}</code></pre>`,
    end: end === -1 ? lines.length : end + 1,
  };
}

function heading(lines: readonly string[], at: number, options: RenderOptions): Block | undefined {
  const [, marks, text] = /^(#{1,6}) +(.*)$/.exec(lines[at] ?? "") ?? [];
  if (marks === undefined || text === undefined) return undefined;
  const anchor = escapeHtml(options.anchorOf(text));
  const level = marks.length;
  const html = `<h${level} id="${anchor}">${inline(text, options)} <a class="anchor" href="#${anchor}" aria-label="Link to this section">#</a></h${level}>`;
  return { html, end: at + 1 };
}

function table(lines: readonly string[], at: number, options: RenderOptions): Block | undefined {
  if (!lines[at]?.startsWith("|") || !/^\|[\s:|-]+\|\s*$/.test(lines[at + 1] ?? ""))
    return undefined;
  let end = at + 2;
  while (lines[end]?.startsWith("|")) end++;
  const row = (line: string, cell: "th" | "td") =>
    `<tr>${cellsOf(line)
      .map((text) => `<${cell}>${inline(text, options)}</${cell}>`)
      .join("")}</tr>`;
  const body = lines.slice(at + 2, end).map((line) => row(line, "td"));
  const head = `<thead>${row(lines[at] ?? "", "th")}</thead>`;
  return {
    html: `<div class="table"><table>${head}<tbody>${body.join("\n")}</tbody></table></div>`,
    end,
  };
}

/** Bars in code and escaped bars are text. */
function cellsOf(line: string): readonly string[] {
  const cells =
    line
      .trim()
      .slice(1)
      .match(/(?:\\.|`[^`]*`|[^|\\])*\|?/g) ?? [];
  return cells
    .filter((cell) => cell !== "")
    .map((cell) => cell.replace(/\|$/, "").replaceAll("\\|", "|").trim());
}

const marker = /^( *)([-*+]|\d+[.)]) +/;

function list(lines: readonly string[], at: number, options: RenderOptions): Block | undefined {
  const first = marker.exec(lines[at] ?? "");
  if (first === null) return undefined;
  const indent = first[1]?.length ?? 0;
  const isOrdered = /\d/.test(first[2] ?? "");
  const items: string[][] = [];
  let end = at;
  for (; end < lines.length; end++) {
    const line = lines[end] ?? "";
    const found = marker.exec(line);
    const current = items.at(-1);
    if (found !== null && found[1]?.length === indent) items.push([line.slice(found[0].length)]);
    else if (line.trim() === "") {
      const next = lines[end + 1] ?? "";
      if (!/^ /.test(next) && marker.exec(next)?.[1]?.length !== indent) break;
      current?.push("");
    } else if (/^ {2,}/.test(line) || lines[end - 1]?.trim() !== "")
      current?.push(line.slice(Math.min(widthOf(line), indent + (first[0].length - indent))));
    else break;
  }
  const [open, close] = isOrdered
    ? [`<ol start="${Number.parseInt(first[2] ?? "1", 10)}">`, "</ol>"]
    : ["<ul>", "</ul>"];
  const html = items.map((item) => `<li>${tight(blocks(item, options))}</li>`).join("\n");
  return { html: `${open}${html}${close}`, end };
}

const widthOf = (line: string) => line.length - line.trimStart().length;

/** An item of one paragraph is its text. */
function tight(html: string): string {
  return html.replace(/^<p>((?:(?!<\/?p>)[\s\S])*)<\/p>/, "$1");
}

function indentedCode(lines: readonly string[], at: number): Block | undefined {
  let end = at;
  while (
    /^ {4}/.test(lines[end] ?? "") ||
    (lines[end] === "" && /^ {4}/.test(lines[end + 1] ?? ""))
  )
    end++;
  if (end === at) return undefined;
  const text = lines.slice(at, end).map((line) => line.slice(4));
  return { html: `<pre><code>${escapeHtml(text.join("\n"))}</code></pre>`, end };
}

function paragraph(lines: readonly string[], at: number, options: RenderOptions): Block {
  let end = at + 1;
  while (end < lines.length && !/^\s*$|^(```|#{1,6} |\|)/.test(lines[end] ?? "")) {
    if (marker.test(lines[end] ?? "")) break;
    end++;
  }
  const text = lines.slice(at, end).join("\n");
  return { html: `<p>${inline(text, options)}</p>`, end };
}

export function escapeHtml(text: string): string {
  return text
    .replaceAll("&", "&amp;")
    .replaceAll("<", "&lt;")
    .replaceAll(">", "&gt;")
    .replaceAll('"', "&quot;");
}

/** Code first: nothing in it is markup. Links next: their text may have code and emphasis. */
const spans =
  /(?<code>(?<marks>`+)(?!`)(?<inCode>[\s\S]*?)(?<!`)\k<marks>(?!`))|(?<image>!\[(?<alt>[^\]]*)\]\((?<source>[^()\s]+)\))|\[(?<label>(?:`[^`]*`|[^\]`])*)\]\((?<target>[^()\s]+)\)|<(?<url>https?:[^>\s]+)>|\*\*(?<strong>(?:(?!\*\*)[\s\S])+)\*\*|(?<![\w*])\*(?<emphasis>[^*\s](?:[^*]*[^*\s])?)\*(?![\w*])|\\(?<escaped>[\\`*_{}[\]<>()#+.!|-])/g;

export function inline(text: string, options: RenderOptions): string {
  let html = "";
  let at = 0;
  for (const match of text.matchAll(spans)) {
    html += escapeHtml(text.slice(at, match.index)) + span(match.groups ?? {}, options);
    at = match.index + match[0].length;
  }
  return html + escapeHtml(text.slice(at));
}

function span(found: Readonly<Record<string, string | undefined>>, options: RenderOptions): string {
  const { inCode, alt, source, label, target, url, strong, emphasis, escaped } = found;
  if (inCode !== undefined)
    return `<code>${escapeHtml(inCode.replaceAll("\n", " ").trim())}</code>`;
  if (source !== undefined)
    return `<img src="${escapeHtml(options.linkTo(source))}" alt="${escapeHtml(alt ?? "")}" loading="lazy">`;
  if (target !== undefined)
    return `<a href="${escapeHtml(options.linkTo(target))}">${inline(label ?? "", options)}</a>`;
  if (url !== undefined) return `<a href="${escapeHtml(url)}">${escapeHtml(url)}</a>`;
  if (strong !== undefined) return `<strong>${inline(strong, options)}</strong>`;
  if (emphasis !== undefined) return `<em>${inline(emphasis, options)}</em>`;
  return escapeHtml(escaped ?? "");
}
