/**
 * The string formats that `format.named` knows, each with the words of Kubernetes' own validation.
 */
import { decodeBase64 } from "../values/base64.ts";
import { parseDate, parseTimestamp } from "../values/time.ts";
import { parseRequestUri } from "../values/url.ts";

export interface NamedFormat {
  readonly name: string;
  /** The length of the pattern that its cost is computed from. */
  readonly patternLength: number;
  /** What is wrong with a text; nothing if it is valid. */
  validate(text: string): string[];
}

const LABEL = "[a-z0-9]([-a-z0-9]*[a-z0-9])?";
const LABEL_WORDS =
  "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character";
const SUBDOMAIN = `${LABEL}(\\.${LABEL})*`;
const SUBDOMAIN_WORDS =
  "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character";
const LABEL_1035 = "[a-z]([-a-z0-9]*[a-z0-9])?";
const LABEL_1035_WORDS =
  "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character";
const QUALIFIED = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]";
const QUALIFIED_WORDS =
  "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character";

/** A text of at most `lengthMax` characters that `pattern` describes from end to end. */
interface Rule {
  readonly pattern: string;
  readonly lengthMax: number;
  readonly words: string;
  readonly examples: readonly string[];
}

const label: Rule = {
  pattern: LABEL,
  lengthMax: 63,
  words: LABEL_WORDS,
  examples: ["my-name", "123-abc"],
};
const subdomain: Rule = {
  pattern: SUBDOMAIN,
  lengthMax: 253,
  words: SUBDOMAIN_WORDS,
  examples: ["example.com"],
};
const label1035: Rule = {
  pattern: LABEL_1035,
  lengthMax: 63,
  words: LABEL_1035_WORDS,
  examples: ["my-name", "abc-123"],
};

export const namedFormats: ReadonlyMap<string, NamedFormat> = new Map<string, NamedFormat>([
  [
    "dns1123Label",
    { name: "DNS1123Label", patternLength: 30, validate: (text) => apply(label, text) },
  ],
  [
    "dns1123Subdomain",
    { name: "DNS1123Subdomain", patternLength: 60, validate: (text) => apply(subdomain, text) },
  ],
  [
    "dns1035Label",
    { name: "DNS1035Label", patternLength: 30, validate: (text) => apply(label1035, text) },
  ],
  ["qualifiedName", { name: "QualifiedName", patternLength: 60, validate: qualifiedName }],
  [
    "dns1123LabelPrefix",
    {
      name: "DNS1123LabelPrefix",
      patternLength: 30,
      validate: (text) => apply(label, maskedPrefix(text)),
    },
  ],
  [
    "dns1123SubdomainPrefix",
    {
      name: "DNS1123SubdomainPrefix",
      patternLength: 60,
      validate: (text) => apply(subdomain, maskedPrefix(text)),
    },
  ],
  [
    "dns1035LabelPrefix",
    {
      name: "DNS1035LabelPrefix",
      patternLength: 30,
      validate: (text) => apply(label1035, maskedPrefix(text)),
    },
  ],
  ["labelValue", { name: "LabelValue", patternLength: 40, validate: labelValue }],
  ["uri", { name: "URI", patternLength: 1103, validate: uri }],
  [
    "uuid",
    {
      name: "uuid",
      patternLength: 114,
      validate: (text) => (UUID.test(text) ? [] : ["does not match the UUID format"]),
    },
  ],
  [
    "byte",
    {
      name: "byte",
      patternLength: 84,
      validate: (text) => (isBase64(text) ? [] : ["invalid base64"]),
    },
  ],
  [
    "date",
    {
      name: "date",
      patternLength: 75,
      validate: (text) => (parseDate(text) ? [] : ["invalid date"]),
    },
  ],
  [
    "datetime",
    {
      name: "datetime",
      patternLength: 75,
      validate: (text) => (isDateTime(text) ? [] : ["invalid datetime"]),
    },
  ],
]);

function apply({ pattern, lengthMax, words, examples }: Rule, text: string): string[] {
  const problems: string[] = [];
  if (text.length > lengthMax) problems.push(tooLong(lengthMax));
  if (!matches(pattern, text)) problems.push(patternProblem(words, examples, pattern));
  return problems;
}

function tooLong(lengthMax: number): string {
  return `must be no more than ${lengthMax} characters`;
}

function patternProblem(words: string, examples: readonly string[], pattern: string): string {
  const shown = examples.map((example) => `'${example}', `).join(" or ");
  return `${words} (e.g. ${shown}regex used for validation is '${pattern}')`;
}

/**
 * The patterns above have no ambiguous repetition, so JavaScript's engine takes linear time on
 * them.
 */
const compiled = new Map<string, RegExp>();

function matches(pattern: string, text: string): boolean {
  let regExp = compiled.get(pattern);
  if (regExp === undefined) {
    regExp = new RegExp(`^(?:${pattern})$`);
    compiled.set(pattern, regExp);
  }
  return regExp.test(text);
}

/** A prefix may end in a dash: it is validated as if a letter followed. */
function maskedPrefix(text: string): string {
  return text.length > 1 && text.endsWith("-") ? `${text.slice(0, -2)}a` : text;
}

function qualifiedName(text: string): string[] {
  const parts = text.split("/");
  if (parts.length > 2) {
    const problem = patternProblem(QUALIFIED_WORDS, ["MyName", "my.name", "123-abc"], QUALIFIED);
    return [
      `a qualified name ${problem} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')`,
    ];
  }
  const [prefix, name = ""] = parts.length === 2 ? parts : [undefined, ...parts];
  const problems: string[] = [];
  if (prefix === "") problems.push("prefix part must be non-empty");
  else if (prefix !== undefined)
    problems.push(...apply(subdomain, prefix).map((words) => `prefix part ${words}`));
  if (name === "") problems.push("name part must be non-empty");
  else if (name.length > 63) problems.push(`name part ${tooLong(63)}`);
  if (!matches(QUALIFIED, name)) {
    problems.push(
      `name part ${patternProblem(QUALIFIED_WORDS, ["MyName", "my.name", "123-abc"], QUALIFIED)}`,
    );
  }
  return problems;
}

function labelValue(text: string): string[] {
  const problems = text.length > 63 ? [tooLong(63)] : [];
  const pattern = `(${QUALIFIED})?`;
  if (!matches(pattern, text)) {
    const words = `a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character`;
    problems.push(patternProblem(words, ["MyValue", "my_value", "12345"], pattern));
  }
  return problems;
}

const UUID = /^[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}$/i;

function uri(text: string): string[] {
  const parsed = parseRequestUri(text);
  return "problem" in parsed ? [parsed.problem] : [];
}

function isBase64(text: string): boolean {
  return text.length > 0 && text.length % 4 === 0 && decodeBase64(text) !== undefined;
}

function isDateTime(text: string): boolean {
  return parseTimestamp(text.toUpperCase()) !== undefined;
}
