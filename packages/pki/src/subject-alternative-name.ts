/** The names and addresses of a serving certificate. */
import { isIPv4, isIPv6 } from "node:net";
import { der } from "./der-writer.ts";

/**
 * The GeneralNames of these host names and IP addresses: sorted and without duplicates, so that the
 * same names always have the same bytes. Throws a RangeError for a text that is neither a DNS name
 * nor an address.
 */
export function encodeAlternativeNames(hostnames: readonly string[]): Buffer {
  const names = [...new Set(hostnames.map((hostname) => hostname.toLowerCase()))].sort();
  return der.sequence(...names.map(generalName));
}

const generalNameTag = { dnsName: 2, ipAddress: 7 } as const;

/**
 * A DNS name, possibly with a wildcard as its first label. Underscores occur in real host names.
 */
const dnsNamePattern =
  /^(?:\*\.)?[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?(?:\.[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?)*$/;

function generalName(hostname: string): Buffer {
  const address = addressBytes(hostname);
  if (address !== undefined) return der.implicit(generalNameTag.ipAddress, address);
  if (hostname.length > 253 || !dnsNamePattern.test(hostname)) {
    throw new RangeError(`${JSON.stringify(hostname)} is neither a DNS name nor an IP address`);
  }
  return der.implicit(generalNameTag.dnsName, Buffer.from(hostname, "ascii"));
}

/** Four or sixteen bytes, or undefined when the text is no address. */
function addressBytes(text: string): Buffer | undefined {
  if (isIPv4(text)) return Buffer.from(text.split(".").map(Number));
  if (!isIPv6(text) || text.includes("%")) return undefined;
  const [head = "", tail] = text.split("::");
  const left = ipv6Groups(head);
  const right = tail === undefined ? [] : ipv6Groups(tail);
  const zeros = new Array<number>(8 - left.length - right.length).fill(0);
  const bytes = Buffer.alloc(16);
  for (const [at, group] of [...left, ...zeros, ...right].entries()) {
    bytes.writeUInt16BE(group, at * 2);
  }
  return bytes;
}

function ipv6Groups(text: string): number[] {
  if (text === "") return [];
  return text.split(":").flatMap((group) => {
    if (!group.includes(".")) return [Number.parseInt(group, 16)];
    const [a = 0, b = 0, c = 0, d = 0] = group.split(".").map(Number);
    return [a * 256 + b, c * 256 + d];
  });
}
