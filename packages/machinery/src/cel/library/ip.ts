/** Kubernetes' IP address functions. */
import type { Library } from "../check/environment.ts";
import { fn, global, member } from "../check/function-declaration.ts";
import { fixedEstimate, traversalEstimate } from "../cost/call-estimate.ts";
import { firstArgumentCost, traversalCost } from "../cost/sizes.ts";
import { BOOL, INT, opaqueType, STRING } from "../types/type.ts";
import {
  formatIp,
  type IpAddress,
  isMappedIpv4,
  parseIp,
  ZONE_PRESENT,
} from "../values/ip-address.ts";
import { CelError, CelObject, type CelResult, type CelValue } from "../values/value.ts";

export const IP_TYPE = opaqueType("net.IP");

export class CelIp extends CelObject {
  readonly typeName = IP_TYPE.name;
  readonly address: IpAddress;

  constructor(address: IpAddress) {
    super();
    this.address = address;
  }

  equals(other: CelObject): boolean {
    return (
      other instanceof CelIp &&
      other.address.bits === this.address.bits &&
      other.address.width === this.address.width
    );
  }

  override get costSize(): number {
    return this.address.width / 8;
  }
}

/** No zones, and no IPv4 addresses in the guise of IPv6. */
export function toIp(text: string): CelIp | CelError {
  const address = parseIp(text);
  const quoted = JSON.stringify(text);
  if ("problem" in address) {
    if (address.problem.endsWith(ZONE_PRESENT))
      return new CelError(`IP address ${quoted} with zone value is not allowed`);
    return new CelError(
      `IP Address ${quoted} parse error during conversion from string: ${address.problem}`,
    );
  }
  if (isMappedIpv4(address))
    return new CelError(`IPv4-mapped IPv6 address ${quoted} is not allowed`);
  return new CelIp(address);
}

const parsing = { cost: firstArgumentCost, estimate: traversalEstimate() };
const access = { cost: 1, estimate: fixedEstimate(1) };

export const ipLibrary: Library = {
  types: [IP_TYPE],
  functions: [
    fn("ip", global("string_to_ip", [STRING], IP_TYPE, toIp, parsing)),
    fn(
      "isIP",
      global("is_ip", [STRING], BOOL, (text: string) => toIp(text) instanceof CelIp, parsing),
    ),
    fn(
      "ip.isCanonical",
      global("ip_is_canonical", [STRING], BOOL, isCanonical, {
        cost: (_result: CelResult, text: CelValue) => traversalCost(text, 2),
        estimate: traversalEstimate({ factor: 2 }),
      }),
    ),
    fn(
      "family",
      member(
        "ip_family",
        [IP_TYPE],
        INT,
        ({ address }: CelIp) => (address.width === 32 ? 4n : 6n),
        access,
      ),
    ),
    test("isUnspecified", "ip_is_unspecified", ({ bits }) => bits === 0n),
    test("isLoopback", "ip_is_loopback", isLoopback),
    test("isLinkLocalMulticast", "ip_is_link_local_multicast", ({ bits, width }) =>
      width === 32 ? bits >> 8n === 0xe00000n : ((bits >> 112n) & 0xff0fn) === 0xff02n,
    ),
    test("isLinkLocalUnicast", "ip_is_link_local_unicast", isLinkLocalUnicast),
    test("isGlobalUnicast", "ip_is_global_unicast", isGlobalUnicast),
    fn(
      "string",
      global("ip_to_string", [IP_TYPE], STRING, ({ address }: CelIp) => formatIp(address)),
    ),
  ],
};

function test(name: string, id: string, holds: (address: IpAddress) => boolean) {
  return fn(
    name,
    member(id, [IP_TYPE], BOOL, ({ address }: CelIp) => holds(address), access),
  );
}

function isCanonical(text: string): CelResult {
  const ip = toIp(text);
  return ip instanceof CelError ? ip : formatIp(ip.address) === text;
}

function isLoopback({ bits, width }: IpAddress): boolean {
  return width === 32 ? bits >> 24n === 127n : bits === 1n;
}

function isLinkLocalUnicast({ bits, width }: IpAddress): boolean {
  return width === 32 ? bits >> 16n === 0xa9fen : bits >> 118n === 0x3fan;
}

function isMulticast({ bits, width }: IpAddress): boolean {
  return width === 32 ? bits >> 28n === 0xen : bits >> 120n === 0xffn;
}

function isGlobalUnicast(address: IpAddress): boolean {
  if (address.bits === 0n) return false;
  if (address.width === 32 && address.bits === 0xffffffffn) return false;
  return !isLoopback(address) && !isMulticast(address) && !isLinkLocalUnicast(address);
}
