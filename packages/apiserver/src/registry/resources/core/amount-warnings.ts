/** Warnings about amounts of bytes that are no whole number, and about spellings of addresses. */
import { formatIp, parseIp, parsePrefix } from "@kcp-ts/machinery/cel";
import { isJsonObject, type JsonObject, type JsonValue } from "@kcp-ts/machinery/json";
import { quote } from "@kcp-ts/machinery/status";
import { textIn } from "../standard.ts";

/** Of canonical quantities only these have a fraction. */
const fractional = /(?:[mun]|e-\d+)$/;

/** Of the amounts of these resources. */
export function fractionWarnings(
  amounts: JsonValue | undefined,
  names: readonly string[],
  at: string,
): string[] {
  if (!isJsonObject(amounts)) return [];
  return names
    .filter((name) => fractional.test(textIn(amounts, name)))
    .map((name) => {
      const value = quote(textIn(amounts, name));
      return `${at}[${name}]: fractional byte value ${value} is invalid, must be an integer`;
    });
}

/** Of the storage that a claim asks for. */
export function claimSpecWarnings({ resources }: JsonObject, at: string): string[] {
  if (!isJsonObject(resources)) return [];
  return ["requests", "limits"].flatMap((member) =>
    fractionWarnings(resources[member], ["storage"], `${at}.resources.${member}`),
  );
}

/** An IPv6 address has one canonical spelling. */
export function addressWarnings(text: string, at: string): string[] {
  const address = parseIp(text);
  if ("problem" in address || address.width === 32) return [];
  const canonical = formatIp(address);
  return canonical === text
    ? []
    : [
        `${at}: IPv6 address ${quote(text)} should be in RFC 5952 canonical format (${quote(canonical)})`,
      ];
}

export function blockWarnings(text: string, at: string): string[] {
  const block = parsePrefix(text);
  if ("problem" in block || block.address.width === 32) return [];
  const canonical = `${formatIp(block.address)}/${block.length}`;
  return canonical === text
    ? []
    : [
        `${at}: IPv6 CIDR value ${quote(text)} should be in RFC 5952 canonical format (${quote(canonical)})`,
      ];
}
