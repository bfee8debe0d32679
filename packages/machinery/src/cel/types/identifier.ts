/**
 * Property names as CEL identifiers.
 *
 * Kubernetes escapes what the grammar does not allow: `__` becomes `__underscores__`, `.`
 * `__dot__`, `-` `__dash__`, `/` `__slash__`, and a reserved word `w` becomes `__w__`. Names with
 * other characters have no identifier.
 */

const RESERVED = new Set([
  "true",
  "false",
  "null",
  "in",
  "as",
  "break",
  "const",
  "continue",
  "else",
  "for",
  "function",
  "if",
  "import",
  "let",
  "loop",
  "package",
  "namespace",
  "return",
  "var",
  "void",
  "while",
]);

const ESCAPES = new Map([
  ["__", "__underscores__"],
  [".", "__dot__"],
  ["-", "__dash__"],
  ["/", "__slash__"],
]);
const UNESCAPES = new Map([...ESCAPES].map(([plain, escaped]) => [escaped, plain]));

/** True for words that are no identifiers of their own. */
export function isReservedWord(name: string): boolean {
  return RESERVED.has(name);
}

/** The identifier for a property, or nothing when it cannot have one. */
export function escapeProperty(name: string): string | undefined {
  if (!/^[A-Za-z_.\-/][\w.\-/]*$/.test(name)) return undefined;
  if (RESERVED.has(name)) return `__${name}__`;
  return name.replaceAll(/__|[.\-/]/g, (part) => ESCAPES.get(part) ?? part);
}

/** The property that an identifier stands for, or nothing when it holds a wrong escape. */
export function unescapeProperty(identifier: string): string | undefined {
  let valid = true;
  const name = identifier.replaceAll(/__[^_]+__/g, (part) => {
    const plain = UNESCAPES.get(part);
    if (plain !== undefined) return plain;
    const word = part.slice(2, -2);
    if (!RESERVED.has(word) || part.length !== identifier.length) valid = false;
    return word;
  });
  return valid ? name : undefined;
}
