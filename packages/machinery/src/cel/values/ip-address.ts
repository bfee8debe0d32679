/** IP addresses and prefixes, read as strictly as Go's net/netip does. */
import { chargeSteps } from "./step-counter.ts";

export interface IpAddress {
  readonly bits: bigint;
  readonly width: 32 | 128;
}

/** What is wrong with an address, in Go's words. */
export interface IpProblem {
  readonly problem: string;
}

/** Longer texts are no addresses. */
const TEXT_LENGTH_MAX = 128;

/** A zone after `%` is refused by all callers, so it is a problem here already. */
export function parseIp(text: string): IpAddress | IpProblem {
  const problem = (words: string) => ({ problem: `ParseAddr(${JSON.stringify(text)}): ${words}` });
  if (text.length > TEXT_LENGTH_MAX) return problem("unable to parse IP");
  chargeSteps(text.length);
  const first = /[.:%]/.exec(text)?.[0];
  if (first === "%") return problem("missing IPv6 address");
  if (first === undefined) return problem("unable to parse IP");
  const parsed = first === "." ? parseIpv4(text) : parseIpv6(text);
  return typeof parsed === "string" ? problem(parsed) : parsed;
}

function parseIpv4(text: string): IpAddress | string {
  const fields = text.split(".");
  let bits = 0n;
  for (const field of fields) {
    const wrong = /\D/.exec(field);
    if (wrong !== null)
      return `unexpected character (at ${JSON.stringify(text.slice(text.indexOf(wrong[0])))})`;
    if (field === "") return "IPv4 field must have at least one digit";
    if (field.length > 1 && field.startsWith("0")) return "IPv4 field has octet with leading zero";
    if (field.length > 3 || Number(field) > 255) return "IPv4 field has value >255";
    bits = (bits << 8n) | BigInt(field);
  }
  if (fields.length < 4) return "IPv4 address too short";
  return fields.length > 4 ? "IPv4 address too long" : { bits, width: 32 };
}

function parseIpv6(text: string): IpAddress | string {
  const percent = text.indexOf("%");
  if (percent !== -1)
    return percent === text.length - 1 ? "zone must be a non-empty string" : ZONE_PRESENT;
  const halves = text.split("::");
  if (halves.length > 2) return `multiple :: in address (at ${JSON.stringify(text)})`;
  const [head = "", tail] = halves;
  const left = parseGroups(head, tail === undefined);
  if (typeof left === "string") return left;
  const right = tail === undefined ? [] : parseGroups(tail, true);
  if (typeof right === "string") return right;
  const missing = 8 - left.length - right.length;
  if (tail === undefined ? missing !== 0 : missing < 1) {
    return missing > 0 ? "address string too short" : "trailing garbage after address";
  }
  const groups = [...left, ...new Array<number>(missing).fill(0), ...right];
  return { bits: groups.reduce((bits, group) => (bits << 16n) | BigInt(group), 0n), width: 128 };
}

export const ZONE_PRESENT = "zone present";

/** `last` groups may end in an IPv4 address. */
function parseGroups(text: string, last: boolean): number[] | string {
  if (text === "") return [];
  const groups: number[] = [];
  const parts = text.split(":");
  for (const [i, part] of parts.entries()) {
    if (last && i === parts.length - 1 && part.includes(".")) {
      const embedded = parseIpv4(part);
      if (typeof embedded === "string") return embedded;
      groups.push(Number(embedded.bits >> 16n), Number(embedded.bits & 0xffffn));
      continue;
    }
    if (part === "")
      return `each colon-separated field must have at least one digit (at ${JSON.stringify(text)})`;
    if (!/^[0-9a-fA-F]+$/.test(part)) return `unexpected character (at ${JSON.stringify(text)})`;
    if (part.length > 4)
      return `each group must have 4 or less digits (at ${JSON.stringify(text)})`;
    groups.push(Number.parseInt(part, 16));
  }
  return groups;
}

export function isMappedIpv4({ bits, width }: IpAddress): boolean {
  return width === 128 && bits >> 32n === 0xffffn;
}

/** The canonical text: RFC 5952 for IPv6. */
export function formatIp({ bits, width }: IpAddress): string {
  if (width === 32) return [24n, 16n, 8n, 0n].map((shift) => (bits >> shift) & 0xffn).join(".");
  const groups = Array.from({ length: 8 }, (_, i) =>
    Number((bits >> BigInt(112 - i * 16)) & 0xffffn),
  );
  const zeros = longestZeroRun(groups);
  const text = (part: readonly number[]) => part.map((group) => group.toString(16)).join(":");
  if (zeros.length < 2) return text(groups);
  return `${text(groups.slice(0, zeros.start))}::${text(groups.slice(zeros.start + zeros.length))}`;
}

function longestZeroRun(groups: readonly number[]): { start: number; length: number } {
  let best = { start: 0, length: 0 };
  for (let start = 0; start < groups.length; start++) {
    let length = 0;
    while (groups[start + length] === 0) length++;
    if (length > best.length) best = { start, length };
  }
  return best;
}

export interface IpPrefix {
  readonly address: IpAddress;
  readonly length: number;
}

export function parsePrefix(text: string): IpPrefix | IpProblem {
  const problem = (words: string) => ({
    problem: `netip.ParsePrefix(${JSON.stringify(text)}): ${words}`,
  });
  const slash = text.lastIndexOf("/");
  if (slash === -1) return problem("no '/'");
  const address = parseIp(text.slice(0, slash));
  if ("problem" in address) {
    return problem(
      address.problem.endsWith(ZONE_PRESENT)
        ? "IPv6 zones cannot be present in a prefix"
        : address.problem,
    );
  }
  const length = text.slice(slash + 1);
  if (!/^(0|[1-9]\d{0,2})$/.test(length))
    return problem(`bad bits after slash: ${JSON.stringify(length)}`);
  if (Number(length) > address.width) return problem("prefix length out of range");
  return { address, length: Number(length) };
}

/** The prefix with the bits behind it set to zero. */
export function maskedPrefix({ address, length }: IpPrefix): IpPrefix {
  const shift = BigInt(address.width - length);
  return { address: { ...address, bits: (address.bits >> shift) << shift }, length };
}

export function prefixContains({ address, length }: IpPrefix, other: IpAddress): boolean {
  const shift = BigInt(address.width - length);
  return address.width === other.width && address.bits >> shift === other.bits >> shift;
}
