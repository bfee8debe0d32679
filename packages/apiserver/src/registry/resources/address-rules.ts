/** Rules of IP addresses and blocks of them, in the words of Kubernetes. */
import {
  formatIp,
  type IpAddress,
  type IpPrefix,
  isMappedIpv4,
  maskedPrefix,
  parseIp,
  parsePrefix,
  prefixContains,
} from "@kcp-ts/machinery/cel";
import { type FieldError, fieldError, quote } from "@kcp-ts/machinery/status";

/** 4 or 6; undefined for a text that is no address. */
export function ipVersionOf(address: string): 4 | 6 | undefined {
  const parsed = parseIp(address);
  if ("problem" in parsed) return undefined;
  return parsed.width === 32 ? 4 : 6;
}

export function ipAddressErrors(address: string, field: string): FieldError[] {
  const parsed = parseIp(address);
  const error = (detail: string) => [fieldError.invalid(field, address, detail)];
  if (!("problem" in parsed))
    return isMappedIpv4(parsed) ? error("must not be an IPv4-mapped IPv6 address") : [];
  return ipVersionOf(withoutLeadingZeros(address)) === undefined
    ? error("must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)")
    : error("must not have leading 0s");
}

/** An address that has one spelling only. */
export function canonicalAddressErrors(address: string, field: string): FieldError[] {
  const errors = ipAddressErrors(address, field);
  const parsed = parseIp(address);
  if (errors.length > 0 || "problem" in parsed) return errors;
  const canonical = formatIp(parsed);
  const detail = `must be in canonical form (${quote(canonical)})`;
  return canonical === address ? [] : [fieldError.invalid(field, address, detail)];
}

const spelling = /must not (?:have (?:leading 0s|bits set|an IPv4-mapped)|be an IPv4-mapped)/;

/** Spellings that the old object has, too, stay: they were good when it was stored. */
export function withoutOldSpellings(
  errors: FieldError[],
  oldErrors: () => readonly FieldError[],
): FieldError[] {
  if (!errors.some(({ body }) => spelling.test(body))) return errors;
  const known = new Set(oldErrors().map(({ body }) => body));
  return errors.filter(({ body }) => !spelling.test(body) || !known.has(body));
}

/** A decimal byte with zeros before it is octal to some programs. */
function withoutLeadingZeros(text: string): string {
  return text.replaceAll(/(^|[.:/])0+(?=\d)/g, "$1");
}

const unspecified = blocksOf("0.0.0.0/32", "::/128");
const loopback = blocksOf("127.0.0.0/8", "::1/128");
const linkLocal = blocksOf("169.254.0.0/16", "fe80::/10");
const linkLocalMulticast = blocksOf("224.0.0.0/24", "ff02::/16");

/** An address that others can reach. */
export function endpointAddressErrors(text: string, field: string): FieldError[] {
  const address = parseIp(text);
  const error = (detail: string) => [fieldError.invalid(field, text, detail)];
  // Only the spelling is wrong, which the rules of addresses tell.
  if (ipVersionOf(withoutLeadingZeros(text)) !== undefined && "problem" in address) return [];
  if ("problem" in address) return error("must be a valid IP address");
  const isIn = (blocks: readonly IpPrefix[]) => blocks.some((one) => prefixContains(one, address));
  if (isIn(unspecified)) return error(`may not be unspecified (${text})`);
  if (isIn(loopback)) return error("may not be in the loopback range (127.0.0.0/8, ::1/128)");
  if (isIn(linkLocal))
    return error("may not be in the link-local range (169.254.0.0/16, fe80::/10)");
  return isIn(linkLocalMulticast)
    ? error("may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)")
    : [];
}

export function parseBlock(text: string): IpPrefix | undefined {
  const block = parsePrefix(text);
  return "problem" in block ? undefined : block;
}

export function blockErrors(text: string, field: string): FieldError[] {
  const block = parseBlock(text);
  const error = (detail: string) => [fieldError.invalid(field, text, detail)];
  if (block === undefined)
    return parseBlock(withoutLeadingZeros(text)) === undefined
      ? error("must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)")
      : error("must not have leading 0s in IP or prefix length");
  if (isMappedIpv4(block.address)) return error("must not have an IPv4-mapped IPv6 address");
  return maskedPrefix(block).address.bits === block.address.bits
    ? []
    : error("must not have bits set beyond the prefix length");
}

export function isStrictPart(part: IpPrefix, whole: IpPrefix): boolean {
  return part.length > whole.length && prefixContains(whole, part.address);
}

export function familyOf({ address }: IpPrefix): IpAddress["width"] {
  return address.width;
}

function blocksOf(...texts: readonly string[]): readonly IpPrefix[] {
  return texts.flatMap((text) => parseBlock(text) ?? []);
}
