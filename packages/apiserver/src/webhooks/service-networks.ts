/**
 * The networks that a Service may lead to. Its objects are the tenant's own, so tenants choose
 * every address in them.
 *
 * Like Kubernetes, this rule accepts no endpoints on the machine itself or on its link, regardless
 * of other options: no Service of a tenant is there. Private networks are the usual place of Pods;
 * they are allowed unless the operator denies them, and then the operator may allow some of them.
 */
import { BlockList, isIP } from "node:net";
import {
  type AddressRule,
  isInNetworks,
  isPlainAddress,
  isPrivateAddress,
} from "./private-addresses.ts";

const machineAddresses = new BlockList();
for (const [address, prefix] of [
  ["0.0.0.0", 8],
  ["127.0.0.0", 8],
  ["169.254.0.0", 16],
  ["224.0.0.0", 4],
  ["240.0.0.0", 4],
  // Metadata services of cloud providers.
  ["100.100.100.200", 32],
  ["168.63.129.16", 32],
  ["192.0.0.192", 32],
] as const)
  machineAddresses.addSubnet(address, prefix, "ipv4");
for (const [address, prefix] of [
  ["::", 96],
  ["64:ff9b::", 96],
  ["64:ff9b:1::", 48],
  ["2001::", 32],
  ["2002::", 16],
  ["fd00:ec2::254", 128],
  ["fe80::", 10],
  ["ff00::", 8],
] as const)
  machineAddresses.addSubnet(address, prefix, "ipv6");

export interface ServiceNetworkOptions {
  readonly denyPrivateAddresses: boolean;
  /** Networks in CIDR notation that Services may lead to although they are denied otherwise. */
  readonly serviceNetworks: readonly string[];
}

/** Throws when a network is not valid CIDR notation. */
export function serviceAddressRule(options: ServiceNetworkOptions): AddressRule {
  const { denyPrivateAddresses, serviceNetworks } = options;
  const allowed = networksOf(serviceNetworks);
  return (address) => {
    if (!isPlainAddress(address)) return true;
    if (isInNetworks(allowed, address)) return false;
    return (
      isInNetworks(machineAddresses, address) || (denyPrivateAddresses && isPrivateAddress(address))
    );
  };
}

function networksOf(texts: readonly string[]): BlockList {
  const networks = new BlockList();
  for (const text of texts) {
    const [address = "", prefix = "", ...more] = text.split("/");
    const version = isIP(address);
    const bits = Number(prefix);
    const isWhole = /^\d{1,3}$/.test(prefix) && bits <= (version === 4 ? 32 : 128);
    if (!isPlainAddress(address) || !isWhole || more.length > 0)
      throw new Error(`${JSON.stringify(text)} is no network: it is written as 10.0.0.0/8`);
    networks.addSubnet(address, bits, version === 4 ? "ipv4" : "ipv6");
  }
  return networks;
}
