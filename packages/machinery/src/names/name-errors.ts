/**
 * Validation of names, with the texts of Kubernetes 1.36. An empty array means that the name is
 * valid.
 *
 * The patterns are both checked and shown in the messages. A name far beyond its length is only too
 * long: none of its characters is looked at.
 */
import { isLonger } from "./utf8-length.ts";

/** UTF-16 units up to which a name that is too long is compared with its pattern. */
export const checkedLengthMax = 4_096;

export interface NameOptions {
  /** The text is a `generateName`: a trailing dash is fine, because characters follow. */
  readonly isPrefix?: boolean;
}

/** Checks one name; every kind of object has one of these. */
export type NameErrors = (name: string, options?: NameOptions) => string[];

/** Most objects: `my-app.v1`. */
export function dnsSubdomainErrors(name: string, { isPrefix }: NameOptions = {}): string[] {
  return dnsErrors(isPrefix === true ? maskedPrefix(name) : name, subdomain);
}

/** Namespaces and other names that become one label of a DNS name. */
export function dnsLabelErrors(name: string, { isPrefix }: NameOptions = {}): string[] {
  const masked = isPrefix === true ? maskedPrefix(name) : name;
  if (isValid(masked, label)) return [];
  const errors = tooLongErrors(masked, label.bytesMax);
  if (masked.length > checkedLengthMax) return errors;
  if (label.regExp.test(masked)) return errors;
  return [...errors, subdomain.regExp.test(masked) ? "must not contain dots" : label.message];
}

/** Like a DNS label, but the first character is a letter. Services have such names. */
export function dns1035LabelErrors(name: string, { isPrefix }: NameOptions = {}): string[] {
  return dnsErrors(isPrefix === true ? maskedPrefix(name) : name, dns1035Label);
}

/** The hosts of an Ingress: `*.example.com`. */
export function wildcardDomainErrors(name: string): string[] {
  return dnsErrors(name, wildcardDomain);
}

/**
 * RBAC objects: anything that fits between two slashes of a URL. Neither length nor emptiness is
 * checked.
 */
export function pathSegmentErrors(name: string, options: NameOptions = {}): string[] {
  if (options.isPrefix !== true && (name === "." || name === "..")) return [`may not be '${name}'`];
  return ["/", "%"]
    .filter((part) => name.includes(part))
    .map((part) => `may not contain '${part}'`);
}

/** The DNS name before the slash of a qualified name. */
export function qualifyingPrefixErrors(prefix: string): string[] {
  return dnsErrors(prefix, subdomain, "bytes");
}

/** Keys of ConfigMaps and Secrets. */
export function configMapKeyErrors(key: string): string[] {
  return [...dnsErrors(key, configMapKey), ...parentDirectoryErrors(key)];
}

interface NameRule {
  readonly bytesMax: number;
  readonly regExp: RegExp;
  readonly message: string;
}

const labelPattern = "[a-z0-9]([-a-z0-9]*[a-z0-9])?";

const label = nameRule(
  63,
  "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character",
  labelPattern,
  ["my-name", "123-abc"],
);
const subdomain = nameRule(
  253,
  "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character",
  `${labelPattern}(\\.${labelPattern})*`,
  ["example.com"],
);
const wildcardDomain = nameRule(
  253,
  "a wildcard DNS-1123 subdomain must start with '*.', followed by a valid DNS subdomain, which must consist of lower case alphanumeric characters, '-' or '.' and end with an alphanumeric character",
  `\\*\\.${labelPattern}(\\.${labelPattern})*`,
  ["*.example.com"],
);
const dns1035Label = nameRule(
  63,
  "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character",
  "[a-z]([-a-z0-9]*[a-z0-9])?",
  ["my-name", "abc-123"],
);
const configMapKey = nameRule(
  253,
  "a valid config key must consist of alphanumeric characters, '-', '_' or '.'",
  "[-._a-zA-Z0-9]+",
  ["key.name", "KEY_NAME", "key-name"],
);

function nameRule(
  bytesMax: number,
  text: string,
  pattern: string,
  examples: readonly string[],
): NameRule {
  return {
    bytesMax,
    regExp: new RegExp(`^${pattern}$`),
    message: patternMessage(text, pattern, examples),
  };
}

/** The double space before `or` is how Kubernetes prints it. */
export function patternMessage(text: string, pattern: string, examples: readonly string[]): string {
  const shown = examples.map((example) => `'${example}', `).join(" or ");
  return `${text} (e.g. ${shown}regex used for validation is '${pattern}')`;
}

function dnsErrors(name: string, rule: NameRule, unit: LengthUnit = "characters"): string[] {
  if (isValid(name, rule)) return [];
  const errors = tooLongErrors(name, rule.bytesMax, unit);
  if (name.length > checkedLengthMax) return errors;
  return rule.regExp.test(name) ? errors : [...errors, rule.message];
}

/** A name that matches its pattern is ASCII: it has as many bytes as characters. */
function isValid(name: string, { bytesMax, regExp }: NameRule): boolean {
  return name.length <= bytesMax && regExp.test(name);
}

/** Bytes are counted in both cases; the word depends on Kubernetes' text. */
type LengthUnit = "characters" | "bytes";

function tooLongErrors(name: string, bytesMax: number, unit: LengthUnit = "characters"): string[] {
  return isLonger(name, bytesMax) ? [`must be no more than ${bytesMax} ${unit}`] : [];
}

function parentDirectoryErrors(key: string): string[] {
  if (key === "." || key === "..") return [`must not be '${key}'`];
  return key.startsWith("..") ? ["must not start with '..'"] : [];
}

/**
 * Kubernetes drops the character before the dash, too; this keeps that, since clients see which
 * prefixes pass.
 */
function maskedPrefix(name: string): string {
  return name.length > 1 && name.endsWith("-") ? `${name.slice(0, -2)}a` : name;
}
