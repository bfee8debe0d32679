/**
 * The texts of `Warning: 299 - "text"` headers, which report deprecations and unknown fields to the
 * user.
 */
import { headerText, type ResponseHeaders } from "./transport.ts";

const warningPattern = /299 [^ ]+ "((?:[^"\\]|\\.)*)"/g;

export function warningsOf(headers: ResponseHeaders): readonly string[] {
  const header = headerText(headers, "warning");
  if (header === undefined) return [];
  const texts: string[] = [];
  for (const [, quoted] of header.matchAll(warningPattern)) {
    texts.push((quoted ?? "").replaceAll(/\\(.)/g, "$1"));
  }
  return texts;
}
