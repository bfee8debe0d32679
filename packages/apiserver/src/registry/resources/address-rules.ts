/** Rules of IP addresses and blocks of them, in the words of Kubernetes. */
import {
  type IpAddress,
  type IpPrefix,
  parseIp,
  parsePrefix,
  prefixContains,
} from "@kcp-ts/machinery/cel";
import { type FieldError, fieldError } from "@kcp-ts/machinery/status";

/** 4 or 6; undefined for a text that is no address. */
export function ipVersionOf(address: string): 4 | 6 | undefined {
  const parsed = parseIp(address);
  if ("problem" in parsed) return undefined;
  return parsed.width === 32 ? 4 : 6;
}

export function ipAddressErrors(address: string, field: string): FieldError[] {
  if (ipVersionOf(address) !== undefined) return [];
  const detail = "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)";
  return [fieldError.invalid(field, address, detail)];
}

const unspecified = blocksOf("0.0.0.0/32", "::/128");
const loopback = blocksOf("127.0.0.0/8", "::1/128");
const linkLocal = blocksOf("169.254.0.0/16", "fe80::/10");
const linkLocalMulticast = blocksOf("224.0.0.0/24", "ff02::/16");

/** An address that others can reach. */
export function endpointAddressErrors(text: string, field: string): FieldError[] {
  const address = parseIp(text);
  const error = (detail: string) => [fieldError.invalid(field, text, detail)];
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
  if (parseBlock(text) !== undefined) return [];
  const detail = "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)";
  return [fieldError.invalid(field, text, detail)];
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
