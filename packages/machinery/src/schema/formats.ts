/**
 * The string formats that Kubernetes enforces, by their normalized names (without dashes), and
 * which formats a type may carry.
 *
 * An unknown format is ignored, with a warning when the CRD is written.
 */
import { isBsonObjectId, isCreditCard, isIsbn10, isIsbn13, isSsn, isUuid } from "./format-ids.ts";
import { isCidr, isEmail, isHostname, isIpv4, isIpv6, isMac, isRequestUri } from "./format-net.ts";
import { isDate, isDateTime, isDuration } from "./format-time.ts";

export type FormatCheck = (text: string) => boolean;

const rgb = String.raw`\s*(0|[1-9]\d?|1\d\d?|2[0-4]\d|25[0-5])\s*`;
const rgbPattern = new RegExp(`^rgb\\(${rgb},${rgb},${rgb}\\)$`);
const shortName = "[a-z0-9](?:[-a-z0-9]*[a-z0-9])?";
const shortNamePattern = new RegExp(`^${shortName}$`);
const longNamePattern = new RegExp(`^${shortName}(?:\\.${shortName})*$`);

const checks: ReadonlyMap<string, FormatCheck> = new Map<string, FormatCheck>([
  ["bsonobjectid", isBsonObjectId],
  ["uri", isRequestUri],
  ["email", isEmail],
  ["hostname", isHostname],
  ["ipv4", isIpv4],
  ["ipv6", isIpv6],
  ["cidr", isCidr],
  ["mac", isMac],
  ["uuid", (text) => isUuid(text, "any")],
  ["uuid3", (text) => isUuid(text, "3")],
  ["uuid4", (text) => isUuid(text, "4")],
  ["uuid5", (text) => isUuid(text, "5")],
  ["isbn", (text) => isIsbn10(text) || isIsbn13(text)],
  ["isbn10", isIsbn10],
  ["isbn13", isIsbn13],
  ["creditcard", isCreditCard],
  ["ssn", isSsn],
  ["hexcolor", (text) => /^#?(?:[0-9a-fA-F]{3}|[0-9a-fA-F]{6})$/.test(text)],
  ["rgbcolor", (text) => text.length <= 1_000 && rgbPattern.test(text)],
  ["byte", (text) => text.length % 4 === 0 && /^[A-Za-z0-9+/]+={0,2}$/.test(text)],
  ["password", () => true],
  ["date", isDate],
  ["duration", isDuration],
  ["datetime", isDateTime],
  ["k8sshortname", (text) => text.length <= 63 && shortNamePattern.test(text)],
  ["k8slongname", (text) => text.length <= 253 && longNamePattern.test(text)],
]);

export function formatCheck(format: string): FormatCheck | undefined {
  return checks.get(format.replaceAll("-", ""));
}

/**
 * Whether the format has a meaning on a schema of this type; `""` is a schema without a single
 * type.
 */
export function isRecognizedFormat(type: string, format: string): boolean {
  switch (type) {
    case "":
    case "string":
      return formatCheck(format) !== undefined;
    case "integer":
      return format === "int32" || format === "int64";
    case "number":
      return format === "float" || format === "double";
    default:
      return false;
  }
}
