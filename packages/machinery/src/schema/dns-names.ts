/**
 * Name rules with Kubernetes' explanations. Each returns the list of errors, empty for a valid
 * name.
 */
import { utf8Length } from "./format-net.ts";

export function regexError(
  message: string,
  pattern: string,
  ...examples: readonly string[]
): string {
  if (examples.length === 0) return `${message} (regex used for validation is '${pattern}')`;
  const listed = examples.map((example) => `'${example}', `).join(" or ");
  return `${message} (e.g. ${listed}regex used for validation is '${pattern}')`;
}

const label1123 = "[a-z0-9]([-a-z0-9]*[a-z0-9])?";
const label1035 = "[a-z]([-a-z0-9]*[a-z0-9])?";
const subdomain1123 = `${label1123}(\\.${label1123})*`;
const qualified = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]";
const labelValue = `(${qualified})?`;

const label1123Pattern = new RegExp(`^${label1123}$`);
const label1035Pattern = new RegExp(`^${label1035}$`);
const subdomain1123Pattern = new RegExp(`^${subdomain1123}$`);
const qualifiedPattern = new RegExp(`^${qualified}$`);
const labelValuePattern = new RegExp(`^${labelValue}$`);

const qualifiedComplaint = regexError(
  "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character",
  qualified,
  "MyName",
  "my.name",
  "123-abc",
);

/** Upstream counts bytes in both cases, but its text says so only for labels. */
type Unit = "characters" | "bytes";

function tooLong(lengthMax: number, unit: Unit): string {
  return `must be no more than ${lengthMax} ${unit}`;
}

/** A name far beyond its limit is not matched: the patterns above would be slow on a long one. */
function check(
  name: string,
  lengthMax: number,
  pattern: RegExp,
  complaint: string,
  unit: Unit = "characters",
): string[] {
  const complaints: string[] = [];
  if (utf8Length(name) > lengthMax) complaints.push(tooLong(lengthMax, unit));
  if (!pattern.test(name.slice(0, 4 * lengthMax))) complaints.push(complaint);
  return complaints;
}

export function dns1123LabelErrors(name: string): string[] {
  if (name.length <= 253 && !label1123Pattern.test(name) && subdomain1123Pattern.test(name)) {
    return [...(name.length > 63 ? [tooLong(63, "characters")] : []), "must not contain dots"];
  }
  return check(
    name,
    63,
    label1123Pattern,
    regexError(
      "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character",
      label1123,
      "my-name",
      "123-abc",
    ),
  );
}

export function dns1123SubdomainErrors(name: string): string[] {
  return subdomainComplaints(name, "characters");
}

function subdomainComplaints(name: string, unit: Unit): string[] {
  return check(
    name,
    253,
    subdomain1123Pattern,
    regexError(
      "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character",
      subdomain1123,
      "example.com",
    ),
    unit,
  );
}

export function dns1035LabelErrors(name: string): string[] {
  return check(
    name,
    63,
    label1035Pattern,
    regexError(
      "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character",
      label1035,
      "my-name",
      "abc-123",
    ),
  );
}

export function qualifiedNameErrors(key: string): string[] {
  const parts = key.split("/", 3);
  if (parts.length > 2) {
    return [
      `a valid label key ${qualifiedComplaint} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')`,
    ];
  }
  const complaints: string[] = [];
  const name = parts.at(-1) as string;
  if (parts.length === 2) {
    const prefix = parts[0] as string;
    if (prefix === "") complaints.push("prefix part must be non-empty");
    else
      for (const text of subdomainComplaints(prefix, "bytes"))
        complaints.push(`prefix part ${text}`);
  }
  if (name === "") complaints.push("name part must be non-empty");
  else if (utf8Length(name) > 63) complaints.push(`name part ${tooLong(63, "bytes")}`);
  if (!qualifiedPattern.test(name.slice(0, 300)))
    complaints.push(`name part ${qualifiedComplaint}`);
  return complaints;
}

export function labelValueErrors(value: string): string[] {
  return check(
    value,
    63,
    labelValuePattern,
    regexError(
      "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character",
      labelValue,
      "MyValue",
      "my_value",
      "12345",
    ),
    "bytes",
  );
}

export function pathSegmentErrors(name: string): string[] {
  if (name === "." || name === "..") return [`may not be '${name}'`];
  return pathSegmentPrefixErrors(name);
}

export function pathSegmentPrefixErrors(name: string): string[] {
  return ["/", "%"]
    .filter((part) => name.includes(part))
    .map((part) => `may not contain '${part}'`);
}
