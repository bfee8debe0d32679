/**
 * A small renderer of Go templates, as far as the charts of this repository use them: tests and
 * `npm run docs` render charts where no helm is at hand. What it does not know, it refuses.
 *
 *     text {{- if .Values.a }} … {{ else }} … {{ end }}    if, with, range, define
 *     {{ include "kcp.labels" . | nindent 4 }}              functions and pipelines
 */
import { dump } from "js-yaml";

type Value = unknown;
type Members = Readonly<Record<string, Value>>;

interface Scope {
  readonly dot: Value;
  readonly variables: Map<string, Value>;
  readonly templates: Map<string, readonly Node[]>;
}

type Node =
  | { readonly kind: "text"; readonly text: string }
  | { readonly kind: "print"; readonly pipeline: string }
  | { readonly kind: "set"; readonly name: string; readonly pipeline: string }
  | Block;

interface Block {
  readonly kind: "if" | "with" | "range" | "define";
  readonly pipeline: string;
  readonly body: readonly Node[];
  readonly otherwise: readonly Node[];
}

/** Renders files by name; those that begin with an underscore only define templates. */
export function renderTemplates(
  files: ReadonlyMap<string, string>,
  dot: Members,
): ReadonlyMap<string, string> {
  const templates = new Map<string, readonly Node[]>();
  const parsed = [...files].map(([name, text]) => [name, parse(text)] as const);
  for (const [, nodes] of parsed)
    for (const node of nodes)
      if (node.kind === "define") templates.set(String(literal(node.pipeline)), node.body);
  const rendered = parsed.map(([name, nodes]) => {
    const scope = { dot, variables: new Map<string, Value>([["$", dot]]), templates };
    return [name, render(nodes, scope)] as const;
  });
  return new Map(rendered.filter(([name]) => !name.startsWith("_")));
}

/** Trims the white space that `{{-` and `-}}` trim, and drops comments. */
function tokens(text: string): readonly (string | { readonly action: string })[] {
  const found: (string | { readonly action: string })[] = [];
  let trimsStart = false;
  let at = 0;
  const push = (raw: string, trimsEnd: boolean) => {
    const left = trimsStart ? raw.trimStart() : raw;
    found.push(trimsEnd ? left.trimEnd() : left);
  };
  for (const match of text.matchAll(/\{\{(-?)\s*((?:"(?:[^"\\]|\\.)*"|[^"])*?)\s*(-?)\}\}/g)) {
    push(text.slice(at, match.index), match[1] === "-");
    const action = match[2] ?? "";
    if (!action.startsWith("/*")) found.push({ action });
    trimsStart = match[3] === "-";
    at = match.index + match[0].length;
  }
  push(text.slice(at), false);
  return found;
}

function parse(text: string): readonly Node[] {
  const all = tokens(text);
  let at = 0;
  const readUntil = (ends: readonly string[]): { nodes: Node[]; end: string } => {
    const nodes: Node[] = [];
    for (;;) {
      const token = all[at++];
      if (token === undefined) {
        if (ends.length > 0) throw new Error(`a template has no ${ends.join(" or ")}`);
        return { nodes, end: "" };
      }
      if (typeof token === "string") nodes.push({ kind: "text", text: token });
      else if (ends.includes(word(token.action))) return { nodes, end: token.action };
      else nodes.push(nodeOf(token.action, readUntil));
    }
  };
  return readUntil([]).nodes;
}

const blocks = ["if", "with", "range", "define"] as const;

function nodeOf(
  action: string,
  readUntil: (ends: readonly string[]) => { nodes: Node[]; end: string },
): Node {
  const kind = blocks.find((one) => one === word(action));
  if (kind === undefined) {
    const [, name, pipeline] = /^(\$\w+) :?= (.*)$/s.exec(action) ?? [];
    if (name !== undefined && pipeline !== undefined) return { kind: "set", name, pipeline };
    return { kind: "print", pipeline: action };
  }
  const pipeline = action.slice(kind.length).trim();
  const { nodes: body, end } = readUntil(["else", "end"]);
  if (end === "end") return { kind, pipeline, body, otherwise: [] };
  const next = end.slice("else".length).trim();
  if (next === "") return { kind, pipeline, body, otherwise: readUntil(["end"]).nodes };
  return { kind, pipeline, body, otherwise: [nodeOf(next, readUntil)] };
}

function word(action: string): string {
  return /^\S*/.exec(action)?.[0] ?? "";
}

function render(nodes: readonly Node[], scope: Scope): string {
  return nodes.map((node) => renderNode(node, scope)).join("");
}

function renderNode(node: Node, scope: Scope): string {
  switch (node.kind) {
    case "text":
      return node.text;
    case "print":
      return printed(evaluate(node.pipeline, scope));
    case "set":
      scope.variables.set(node.name, evaluate(node.pipeline, scope));
      return "";
    case "define":
      return "";
    case "range":
      return renderRange(node, scope);
    default: {
      const value = evaluate(node.pipeline, scope);
      if (!isTrue(value)) return render(node.otherwise, scope);
      return render(node.body, node.kind === "with" ? { ...scope, dot: value } : scope);
    }
  }
}

function renderRange({ pipeline, body, otherwise }: Block, scope: Scope): string {
  const [, key, value, list = pipeline] = /^(?:(\$\w+), )?(\$\w+) := (.*)$/s.exec(pipeline) ?? [];
  const over = evaluate(list, scope);
  const entries = Array.isArray(over)
    ? [...over.entries()]
    : Object.entries((over ?? {}) as Members).sort(([a], [b]) => (a < b ? -1 : 1));
  if (entries.length === 0) return render(otherwise, scope);
  return entries
    .map(([at, dot]) => {
      const variables = new Map(scope.variables);
      if (key !== undefined) variables.set(key, at);
      if (value !== undefined) variables.set(value, dot);
      return render(body, { ...scope, dot, variables });
    })
    .join("");
}

function printed(value: Value): string {
  return value === undefined || value === null ? "" : String(value);
}

/** As Go's templates see it: zero, the empty string and the empty list are false. */
function isTrue(value: Value): boolean {
  if (value === undefined || value === null || value === false) return false;
  if (value === 0 || value === "") return false;
  return typeof value !== "object" || Object.keys(value).length > 0;
}

/** The words of a pipeline: strings, parentheses, paths, and bars. */
const wordPattern = /"(?:[^"\\]|\\.)*"|`[^`]*`|[()|]|[^\s()|]+/g;

function evaluate(pipeline: string, scope: Scope): Value {
  const words = pipeline.match(wordPattern) ?? [];
  let at = 0;
  const operand = (): Value => {
    const one = words[at++] as string;
    if (one !== "(") return operandValue(one, scope);
    const value = chain();
    at++;
    return value;
  };
  const command = (piped: readonly Value[]): Value => {
    const name = words[at] as string;
    if (!/^[a-z]\w*$/i.test(name) || literals.has(name)) return operand();
    at++;
    const args: Value[] = [];
    while (at < words.length && words[at] !== "|" && words[at] !== ")") args.push(operand());
    return call(name, [...args, ...piped], scope);
  };
  const chain = (): Value => {
    let value = command([]);
    while (words[at] === "|") {
      at++;
      value = command([value]);
    }
    return value;
  };
  return chain();
}

const literals: ReadonlyMap<string, Value> = new Map<string, Value>([
  ["true", true],
  ["false", false],
  ["nil", undefined],
]);

function literal(text: string): Value {
  if (literals.has(text)) return literals.get(text);
  if (text.startsWith('"')) return JSON.parse(text) as string;
  if (text.startsWith("`")) return text.slice(1, -1);
  if (/^-?\d+$/.test(text)) return Number(text);
  throw new Error(`a template has ${text}, which the renderer does not know`);
}

function operandValue(text: string, { dot, variables }: Scope): Value {
  const [, name, path] = /^(\$\w*)?((?:\.\w*)*)$/.exec(text) ?? [];
  if (path === undefined) return literal(text);
  if (name !== undefined && !variables.has(name)) throw new Error(`${name} is not set`);
  const start = name === undefined ? dot : variables.get(name);
  return path
    .split(".")
    .filter((member) => member !== "")
    .reduce<Value>((value, member) => (value as Members | undefined)?.[member], start);
}

const functions: Readonly<Record<string, (...args: never[]) => Value>> = {
  and: (...args: Value[]) => args.find((arg) => !isTrue(arg)) ?? args.at(-1),
  or: (...args: Value[]) => args.find(isTrue) ?? args.at(-1),
  not: (value: Value) => !isTrue(value),
  eq: (a: Value, b: Value) => a === b,
  ne: (a: Value, b: Value) => a !== b,
  gt: (a: number, b: number) => a > b,
  int: Number,
  default: (fallback: Value, value: Value) => (isTrue(value) ? value : fallback),
  join: (separator: string, list: readonly Value[]) => list.join(separator),
  quote: (value: Value) => JSON.stringify(printed(value)),
  printf: (format: string, ...args: Value[]) =>
    format.replace(/%[sdv]/g, () => printed(args.shift())),
  b64enc: (text: string) => Buffer.from(text).toString("base64"),
  toYaml: (value: Value) => dump(value, { lineWidth: -1, noRefs: true }).trimEnd(),
  nindent: (spaces: number, text: string) => `\n${indented(spaces, text)}`,
  trunc: (length: number, text: string) => text.slice(0, length),
  trimSuffix: (suffix: string, text: string) =>
    text.endsWith(suffix) ? text.slice(0, -suffix.length) : text,
  fail: (message: string) => {
    throw new Error(message);
  },
  required: (message: string, value: Value) => {
    if (value === undefined || value === "") throw new Error(message);
    return value;
  },
};

function indented(spaces: number, text: string): string {
  return text.replace(/^/gm, " ".repeat(spaces));
}

function call(name: string, args: readonly Value[], scope: Scope): Value {
  if (name === "include") {
    const body = scope.templates.get(String(args[0]));
    if (body === undefined) throw new Error(`no template is named ${String(args[0])}`);
    const variables = new Map<string, Value>([["$", args[1]]]);
    return render(body, { ...scope, dot: args[1], variables });
  }
  const implementation = functions[name];
  if (implementation === undefined) throw new Error(`the renderer has no function ${name}`);
  return implementation(...(args as never[]));
}
