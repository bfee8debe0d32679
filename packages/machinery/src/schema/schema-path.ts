/**
 * Paths into a schema, as `fieldPath` of a rule and `jsonPath` of a selectable field write them:
 * `.spec.color`, `.spec['a.b']`.
 */
import { isSchema, type SchemaProps } from "./schema-props.ts";
import type { PathSegment } from "./value-path.ts";

export type ResolvedPath =
  | { readonly path: readonly PathSegment[]; readonly schema: SchemaProps | undefined }
  | { readonly error: string };

export function resolveSchemaPath(
  text: string,
  root: SchemaProps,
  options: { readonly allowBrackets: boolean } = { allowBrackets: true },
): ResolvedPath {
  const tokens = tokenize(text);
  const path: PathSegment[] = [];
  let schema: SchemaProps | undefined = root;
  for (let i = 0; i < tokens.length; i++) {
    const token = tokens[i];
    let name: string;
    if (token === "[") {
      if (!options.allowBrackets) return { error: "array notation is not allowed" };
      const literal = tokens[++i];
      if (literal === undefined) return { error: "unexpected end of JSON path" };
      if (literal.length < 2 || !literal.startsWith("'") || !literal.endsWith("'"))
        return { error: `expected single quoted string but got ${literal}` };
      const unescaped = unescapeLiteral(literal.slice(1, -1));
      if (typeof unescaped !== "string")
        return { error: `invalid string literal: ${unescaped.error}` };
      name = unescaped;
    } else if (token === ".") {
      const next = tokens[++i];
      if (next === undefined) return { error: "unexpected end of JSON path" };
      name = next;
    } else {
      return { error: `expected [ or . but got: ${token}` };
    }
    const step: Step | undefined = descend(schema, name);
    if (step === undefined) return { error: "does not refer to a valid field" };
    schema = step.schema;
    path.push(step.segment);
    if (token === "[") {
      const close = tokens[++i];
      if (close === undefined) return { error: "unexpected end of JSON path" };
      if (close !== "]") return { error: `expected ] but got ${close}` };
    }
  }
  return { path, schema };
}

interface Step {
  readonly segment: PathSegment;
  readonly schema: SchemaProps | undefined;
}

function descend(schema: SchemaProps | undefined, name: string): Step | undefined {
  if (schema?.properties !== undefined && schema.properties.size > 0) {
    const property = schema.properties.get(name);
    return property === undefined ? undefined : { segment: name, schema: property };
  }
  const additional = schema?.additionalProperties;
  if (additional === undefined) return undefined;
  return { segment: [name], schema: isSchema(additional) ? additional : undefined };
}

/** `.`, `[`, `]`, a quoted text, or whatever stands between these. */
function tokenize(text: string): string[] {
  const tokens: string[] = [];
  let at = 0;
  while (at < text.length) {
    const char = text[at] as string;
    let end = at + 1;
    if (char === "'") {
      while (end < text.length && !(text[end] === "'" && text[end - 1] !== "\\")) end++;
      end = Math.min(end + 1, text.length);
    } else if (!".[]".includes(char)) {
      while (end < text.length && !".[]".includes(text[end] as string)) end++;
    }
    tokens.push(text.slice(at, end));
    at = end;
  }
  return tokens;
}

const escapes = new Map([
  ["a", "\u0007"],
  ["b", "\b"],
  ["f", "\f"],
  ["n", "\n"],
  ["r", "\r"],
  ["t", "\t"],
  ["v", "\v"],
  ["'", "'"],
  ["\\", "\\"],
]);

function unescapeLiteral(text: string): string | { readonly error: string } {
  let error: string | undefined;
  const plain = text.replace(/\\./g, (sequence) => {
    const char = escapes.get(sequence[1] as string);
    if (char === undefined) error = `invalid escape char ${sequence}`;
    return char ?? "";
  });
  return error === undefined ? plain : { error };
}
