/**
 * The JSONPath of Kubernetes (`client-go/util/jsonpath`), as far as printer columns, selectable
 * fields and scale paths need it: parsing.
 *
 *     .spec.replicas   .status.conditions[?(@.type=="Ready")].status   .items[*].name   .metadata.labels['a\.b']   .list[-1]   .list[0:2]
 *
 * As upstream, a dot inside brackets separates fields unless it is escaped. Evaluation is in
 * json-path-eval.ts.
 */
import { jsonPathLengthMax } from "./limits.ts";

export type PathNode =
  | { readonly kind: "field"; readonly name: string }
  | { readonly kind: "wildcard" }
  | { readonly kind: "recursive" }
  | { readonly kind: "slice"; readonly slice: Slice }
  | { readonly kind: "union"; readonly branches: readonly (readonly PathNode[])[] }
  | { readonly kind: "filter"; readonly filter: Filter }
  | { readonly kind: "literal"; readonly value: string | number | boolean };

export interface Slice {
  readonly start: number | undefined;
  readonly end: number | undefined;
  readonly step: number | undefined;
  /** A single index, not a range. */
  readonly isIndex: boolean;
}

export interface Filter {
  readonly left: readonly PathNode[];
  readonly operator: string;
  readonly right: readonly PathNode[];
}

export class JsonPathError extends Error {
  override readonly name = "JsonPathError";
}

export function parseJsonPath(text: string): readonly PathNode[] {
  if (text.length > jsonPathLengthMax)
    throw new JsonPathError(`path is longer than ${jsonPathLengthMax} characters`);
  return new PathParser(text, 0).parse();
}

const nestingMax = 8;
const filterPattern = /^([^!<>=]+)([!<>=]+)(.+?)$/;
const slicePattern = /^(-?\d*)(:-?\d*)?(:-?\d*)?$/;
const terminators = new Set([" ", "\t", "\r", "\n", ".", ",", "[", "]", "$", "@", "{", "}"]);

class PathParser {
  readonly #text: string;
  readonly #nesting: number;
  #at = 0;

  constructor(text: string, nesting: number) {
    if (nesting > nestingMax) throw new JsonPathError("path is nested too deeply");
    this.#text = text;
    this.#nesting = nesting;
  }

  parse(): readonly PathNode[] {
    const nodes: PathNode[] = [];
    while (this.#at < this.#text.length) this.#next(nodes);
    return nodes;
  }

  #next(nodes: PathNode[]): void {
    const text = this.#text;
    if (text.startsWith("[?(", this.#at)) {
      nodes.push(this.#filter());
      return;
    }
    if (text.startsWith("..", this.#at)) {
      if (nodes.at(-1)?.kind === "recursive")
        throw new JsonPathError("invalid multiple recursive descent");
      this.#at += 2;
      nodes.push({ kind: "recursive" });
      if (/[\p{L}\p{Nd}_]/u.test(text[this.#at] ?? "")) nodes.push(this.#field());
      return;
    }
    const char = text[this.#at] as string;
    if (char === "\n" || char === "\r") throw new JsonPathError("unclosed action");
    if (char === " " || char === "@" || char === "$") this.#at++;
    else if (char === "[") nodes.push(...this.#brackets());
    else if (char === '"' || char === "'")
      nodes.push({ kind: "literal", value: this.#quoted(char) });
    else if (char === ".") {
      this.#at++;
      nodes.push(this.#field());
    } else if (/[+\-\p{Nd}]/u.test(char)) nodes.push(this.#number());
    else if (/[\p{L}_]/u.test(char)) nodes.push(this.#word());
    else throw new JsonPathError(`unrecognized character in action: ${goRune(char)}`);
  }

  #field(): PathNode {
    const start = this.#at;
    while (this.#at < this.#text.length) {
      const char = this.#text[this.#at] as string;
      if (char === "\\") this.#at++;
      else if (terminators.has(char)) break;
      this.#at++;
    }
    const name = this.#text.slice(start, this.#at);
    return name === "*" ? { kind: "wildcard" } : { kind: "field", name: name.replaceAll("\\", "") };
  }

  #word(): PathNode {
    const start = this.#at;
    while (this.#at < this.#text.length && !terminators.has(this.#text[this.#at] as string))
      this.#at++;
    const word = this.#text.slice(start, this.#at);
    if (word === "true" || word === "false") return { kind: "literal", value: word === "true" };
    throw new JsonPathError(`unrecognized identifier ${word}`);
  }

  #number(): PathNode {
    const match = /^[+-]?[\d.]*/.exec(this.#text.slice(this.#at));
    const digits = match?.[0] ?? "";
    this.#at += Math.max(1, digits.length);
    const value = Number(digits);
    if (digits === "" || Number.isNaN(value))
      throw new JsonPathError(`cannot parse number ${digits}`);
    return { kind: "literal", value };
  }

  #quoted(quote: string): string {
    let value = "";
    for (let at = this.#at + 1; at < this.#text.length; at++) {
      const char = this.#text[at] as string;
      if (char === "\n") break;
      if (char === "\\" && at + 1 < this.#text.length) value += this.#text[++at];
      else if (char === quote) {
        this.#at = at + 1;
        return value;
      } else value += char;
    }
    throw new JsonPathError("unterminated quoted string");
  }

  #brackets(): readonly PathNode[] {
    const end = this.#text.indexOf("]", this.#at);
    const inner = this.#text.slice(this.#at + 1, end < 0 ? undefined : end);
    if (end < 0 || inner.includes("\n")) throw new JsonPathError("unterminated array");
    this.#at = end + 1;
    return this.#bracketText(inner === "*" ? ":" : inner);
  }

  #bracketText(inner: string): readonly PathNode[] {
    const parts = inner.split(",");
    if (parts.length > 1) {
      const branches = parts.map((part) =>
        new PathParser(`[${part.trim()}]`, this.#nesting + 1).parse(),
      );
      return [{ kind: "union", branches }];
    }
    const key = /^'([^']*)'$/.exec(inner)?.[1];
    if (key !== undefined) return new PathParser(`.${key}`, this.#nesting + 1).parse();
    const range = slicePattern.exec(inner);
    if (range === null) throw new JsonPathError(`invalid array index ${inner}`);
    const number = (text: string | undefined): number | undefined => {
      const digits = text?.replace(":", "") ?? "";
      if (digits === "-") throw new JsonPathError(`array index ${digits} is not a number`);
      return digits === "" ? undefined : Number(digits);
    };
    const isIndex = range[2] === undefined;
    const slice = {
      start: number(range[1]),
      end: number(range[2]),
      step: number(range[3]),
      isIndex,
    };
    return [{ kind: "slice", slice }];
  }

  #filter(): PathNode {
    const start = this.#at + 3;
    let at = start;
    let pair: string | undefined;
    let closed = false;
    for (; ; at++) {
      const char = this.#text[at];
      if (char === undefined || char === "\n") throw new JsonPathError("unterminated filter");
      if (char === '"' || char === "'") {
        if (pair === undefined) pair = char;
        else if (char === pair && this.#text[at - 1] !== "\\") closed = true;
      } else if (char === ")" && (pair === undefined || closed)) break;
    }
    if (this.#text[at + 1] !== "]") throw new JsonPathError("unclosed array expect ]");
    const text = this.#text.slice(start, at);
    this.#at = at + 2;
    const parts = filterPattern.exec(text);
    const parse = (part: string): readonly PathNode[] =>
      new PathParser(part, this.#nesting + 1).parse();
    const filter: Filter =
      parts === null
        ? { left: parse(text), operator: "exists", right: [] }
        : {
            left: parse(parts[1] as string),
            operator: parts[2] as string,
            right: parse(parts[3] as string),
          };
    return { kind: "filter", filter };
  }
}

function goRune(char: string): string {
  const code = (char.codePointAt(0) as number).toString(16).toUpperCase().padStart(4, "0");
  return `U+${code} '${char}'`;
}
