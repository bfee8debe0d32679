/** Kubernetes' functions for address prefixes in CIDR notation. */
import type { Library } from "../check/environment.ts";
import { fn, global, member } from "../check/function-declaration.ts";
import { type CallEstimator, fixedEstimate, traversalEstimate } from "../cost/call-estimate.ts";
import { add, multiplyByFactor, ONE, TRAVERSAL_FACTOR, UNKNOWN_SIZE } from "../cost/estimate.ts";
import { costSize, firstArgumentCost } from "../cost/sizes.ts";
import { BOOL, INT, opaqueType, STRING } from "../types/type.ts";
import {
  formatIp,
  type IpPrefix,
  isMappedIpv4,
  maskedPrefix,
  parsePrefix,
  prefixContains,
} from "../values/ip-address.ts";
import { CelError, CelObject, type CelResult, type CelValue } from "../values/value.ts";
import { CelIp, IP_TYPE, toIp } from "./ip.ts";

export const CIDR_TYPE = opaqueType("net.CIDR");

export class CelCidr extends CelObject {
  readonly typeName = CIDR_TYPE.name;
  readonly prefix: IpPrefix;

  constructor(prefix: IpPrefix) {
    super();
    this.prefix = prefix;
  }

  equals(other: CelObject): boolean {
    return other instanceof CelCidr && prefixText(other.prefix) === prefixText(this.prefix);
  }

  override get costSize(): number {
    return Math.ceil(this.prefix.length / 8);
  }
}

function prefixText({ address, length }: IpPrefix): string {
  return `${formatIp(address)}/${length}`;
}

const parsing = { cost: firstArgumentCost, estimate: traversalEstimate() };
const access = { cost: 1, estimate: fixedEstimate(1) };

export const cidrLibrary: Library = {
  types: [CIDR_TYPE],
  functions: [
    fn("cidr", global("string_to_cidr", [STRING], CIDR_TYPE, toCidr, parsing)),
    fn(
      "isCIDR",
      global("is_cidr", [STRING], BOOL, (text: string) => toCidr(text) instanceof CelCidr, parsing),
    ),
    fn(
      "containsIP",
      member(
        "cidr_contains_ip_string",
        [CIDR_TYPE, STRING],
        BOOL,
        (cidr: CelCidr, text: string) => containsIp(cidr, toIp(text)),
        comparison({ parses: true, masks: false }),
      ),
      member(
        "cidr_contains_ip_ip",
        [CIDR_TYPE, IP_TYPE],
        BOOL,
        containsIp,
        comparison({ parses: false, masks: false }),
      ),
    ),
    fn(
      "containsCIDR",
      member(
        "cidr_contains_cidr_string",
        [CIDR_TYPE, STRING],
        BOOL,
        (cidr: CelCidr, text: string) => containsCidr(cidr, toCidr(text)),
        comparison({ parses: true, masks: true }),
      ),
      member(
        "cidr_contains_cidr",
        [CIDR_TYPE, CIDR_TYPE],
        BOOL,
        containsCidr,
        comparison({ parses: false, masks: true }),
      ),
    ),
    fn(
      "ip",
      member(
        "cidr_ip",
        [CIDR_TYPE],
        IP_TYPE,
        ({ prefix }: CelCidr) => new CelIp(prefix.address),
        access,
      ),
    ),
    fn(
      "prefixLength",
      member(
        "cidr_prefix_length",
        [CIDR_TYPE],
        INT,
        ({ prefix }: CelCidr) => BigInt(prefix.length),
        access,
      ),
    ),
    fn(
      "masked",
      member(
        "cidr_masked",
        [CIDR_TYPE],
        CIDR_TYPE,
        ({ prefix }: CelCidr) => new CelCidr(maskedPrefix(prefix)),
        access,
      ),
    ),
    fn(
      "string",
      global("cidr_to_string", [CIDR_TYPE], STRING, ({ prefix }: CelCidr) => prefixText(prefix)),
    ),
  ],
};

/** Comparing bytes of two addresses, with what else it takes. */
function comparison({ parses, masks }: { parses: boolean; masks: boolean }) {
  const cost = (_result: CelResult, cidr: CelValue, other: CelValue): number => {
    const size = costSize(cidr);
    let total = Math.ceil(2 * size * TRAVERSAL_FACTOR);
    if (masks) total += Math.ceil(size * TRAVERSAL_FACTOR) + 1;
    return parses ? total + Math.ceil(costSize(other) * TRAVERSAL_FACTOR) : total;
  };
  const estimate: CallEstimator = ({ args }) => {
    const address = { min: 4, max: 16 };
    const parts = [multiplyByFactor(add(address, address), TRAVERSAL_FACTOR)];
    if (masks) parts.push(multiplyByFactor(address, TRAVERSAL_FACTOR), ONE);
    if (parses) parts.push(multiplyByFactor(args[0]?.size ?? UNKNOWN_SIZE, TRAVERSAL_FACTOR));
    return { cost: add(...parts) };
  };
  return { cost, estimate };
}

function toCidr(text: string): CelCidr | CelError {
  const words = "network address parse error during conversion from string";
  const prefix = parsePrefix(text);
  if ("problem" in prefix) return new CelError(`${words}: ${words}: ${prefix.problem}`);
  if (isMappedIpv4(prefix.address)) {
    return new CelError(
      `${words}: IPv4-mapped IPv6 address ${JSON.stringify(text)} is not allowed`,
    );
  }
  return new CelCidr(prefix);
}

function containsIp({ prefix }: CelCidr, ip: CelIp | CelError): CelResult {
  return ip instanceof CelError ? ip : prefixContains(prefix, ip.address);
}

function containsCidr({ prefix }: CelCidr, other: CelCidr | CelError): CelResult {
  if (other instanceof CelError) return other;
  return prefix.length <= other.prefix.length && prefixContains(prefix, other.prefix.address);
}
