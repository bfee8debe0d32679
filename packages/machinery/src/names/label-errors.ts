/**
 * Validation of keys and values of labels. Annotation keys, finalizers and condition types are
 * qualified names, too.
 *
 * These texts say `bytes` where those of object names say `characters`, as in Kubernetes 1.36.
 */
import { checkedLengthMax, patternMessage, qualifyingPrefixErrors } from "./name-errors.ts";
import { isLonger } from "./utf8-length.ts";

const bytesMax = 63;
const tooLong = `must be no more than ${bytesMax} bytes`;

const namePattern = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]";
const nameRegExp = new RegExp(`^${namePattern}$`);
const nameMessage = patternMessage(
  "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character",
  namePattern,
  ["MyName", "my.name", "123-abc"],
);

const valuePattern = `(${namePattern})?`;
const valueRegExp = new RegExp(`^${valuePattern}$`);
const valueMessage = patternMessage(
  "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character",
  valuePattern,
  ["MyValue", "my_value", "12345"],
);

/** `name` or `dns.prefix/name`. */
export function qualifiedNameErrors(name: string): string[] {
  const slash = name.indexOf("/");
  if (slash === -1) return namePartErrors(name);
  if (name.includes("/", slash + 1)) {
    return [
      `a valid label key ${nameMessage} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')`,
    ];
  }
  return [...prefixPartErrors(name.slice(0, slash)), ...namePartErrors(name.slice(slash + 1))];
}

export function labelValueErrors(value: string): string[] {
  const errors = isLonger(value, bytesMax) ? [tooLong] : [];
  if (value.length > checkedLengthMax) return errors;
  return valueRegExp.test(value) ? errors : [...errors, valueMessage];
}

function prefixPartErrors(prefix: string): string[] {
  if (prefix === "") return ["prefix part must be non-empty"];
  return qualifyingPrefixErrors(prefix).map((error) => `prefix part ${error}`);
}

function namePartErrors(name: string): string[] {
  const errors: string[] = [];
  if (name === "") errors.push("name part must be non-empty");
  else if (isLonger(name, bytesMax)) errors.push(`name part ${tooLong}`);
  if (name.length <= checkedLengthMax && !nameRegExp.test(name))
    errors.push(`name part ${nameMessage}`);
  return errors;
}
