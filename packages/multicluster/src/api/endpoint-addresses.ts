/**
 * Which addresses of a cluster's endpoints are published to other clusters: those that
 * kube-apiserver permits in an EndpointSlice, and no others. A cluster may report any address, and
 * with a loopback or link-local address, clients of the Service in other clusters would connect to
 * their own node, or to the metadata service that hands out the machine's credentials.
 */
import { BlockList, isIP } from "node:net";
import { isJsonObject, type JsonObject, type JsonValue } from "@kcp-ts/machinery/json";

/** The limit in kube-apiserver's validation. */
export const endpointsMax = 1000;
export const addressesMax = 100;
export const portsMax = 100;

/**
 * Unspecified, loopback, link-local unicast and link-local multicast: kube-apiserver's
 * `ValidateNonSpecialIP`.
 */
const special = new BlockList();
special.addAddress("0.0.0.0");
special.addSubnet("127.0.0.0", 8);
special.addSubnet("169.254.0.0", 16);
special.addSubnet("224.0.0.0", 24);
special.addAddress("::", "ipv6");
special.addAddress("::1", "ipv6");
special.addSubnet("fe80::", 10, "ipv6");
special.addSubnet("ff02::", 16, "ipv6");

const families: Readonly<Record<string, 4 | 6>> = { IPv4: 4, IPv6: 6 };
const namePattern = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)+$/;
const nameCharactersMax = 253;

/** The addresses of one endpoint; undefined when one of them must not be published. */
export function sharedAddresses(
  addressType: string,
  endpoint: JsonObject,
): readonly string[] | undefined {
  const { addresses } = endpoint as { addresses?: unknown };
  if (!Array.isArray(addresses) || addresses.length === 0 || addresses.length > addressesMax)
    return undefined;
  return addresses.every((one) => isSharedAddress(addressType, one))
    ? (addresses as readonly string[])
    : undefined;
}

/** Whether a load balancer address that a cluster reports may be published. */
export function isSharedIngress(ingress: JsonObject): boolean {
  if (!isJsonObject(ingress)) return false;
  const { ip, hostname } = ingress;
  const isIpShared = typeof ip === "string" && isIP(ip) !== 0 && !isSpecial(ip);
  return (ip === undefined || isIpShared) && (hostname === undefined || isSharedName(hostname));
}

/** Kinds whose status contains load balancer addresses. */
const balanced: ReadonlySet<string> = new Set(["services", "ingresses.networking.k8s.io"]);

/**
 * The status that a cluster reports, without load balancer addresses that must not be published;
 * the identical object when there are none.
 */
export function sharedStatus(
  { group, resource }: { readonly group: string; readonly resource: string },
  status: JsonValue,
): JsonValue {
  if (!balanced.has(group === "" ? resource : `${resource}.${group}`)) return status;
  const loadBalancer = isJsonObject(status) ? status["loadBalancer"] : undefined;
  const ingress = isJsonObject(loadBalancer) ? loadBalancer["ingress"] : undefined;
  if (!isJsonObject(status) || !isJsonObject(loadBalancer) || !Array.isArray(ingress))
    return status;
  const shared = (ingress as readonly JsonObject[]).filter(isSharedIngress);
  if (shared.length === ingress.length) return status;
  const { ingress: _, ...others } = loadBalancer;
  const left = shared.length === 0 ? others : { ...others, ingress: shared };
  return { ...status, loadBalancer: left };
}

function isSharedAddress(addressType: string, address: unknown): boolean {
  if (typeof address !== "string") return false;
  if (addressType === "FQDN") return isSharedName(address);
  return isIP(address) === families[addressType] && !isSpecial(address);
}

function isSharedName(name: JsonValue): boolean {
  if (typeof name !== "string" || name.length > nameCharactersMax) return false;
  return isIP(name) === 0 && namePattern.test(name);
}

function isSpecial(address: string): boolean {
  // A zone is valid on one machine only, and would hide the address from the list. BlockList finds
  // IPv4 addresses in IPv6 notation as IPv4 addresses.
  return address.includes("%") || special.check(address, isIP(address) === 4 ? "ipv4" : "ipv6");
}
