/**
 * Addresses that a tenant's webhook or kubeconfig may not lead to when the operator denies them:
 * this machine, its networks, and the link-local metadata services of cloud providers.
 *
 * Names are resolved first and the connection goes to the checked address, so that DNS rebinding
 * gains nothing.
 */
import { lookup as lookUp } from "node:dns";
import { BlockList, isIP, type LookupFunction } from "node:net";

const privateAddresses = new BlockList();
for (const [address, prefix] of [
  ["0.0.0.0", 8],
  ["10.0.0.0", 8],
  ["100.64.0.0", 10],
  ["127.0.0.0", 8],
  ["169.254.0.0", 16],
  ["172.16.0.0", 12],
  ["192.0.0.0", 24],
  ["192.168.0.0", 16],
  ["198.18.0.0", 15],
  ["224.0.0.0", 4],
  ["240.0.0.0", 4],
  // Azure's platform address for its virtual machines.
  ["168.63.129.16", 32],
] as const)
  privateAddresses.addSubnet(address, prefix, "ipv4");
for (const [address, prefix] of [
  ["::", 96],
  ["64:ff9b::", 96],
  ["64:ff9b:1::", 48],
  ["2001::", 32],
  ["2002::", 16],
  ["fc00::", 7],
  ["fe80::", 10],
  ["fec0::", 10],
  ["ff00::", 8],
] as const)
  privateAddresses.addSubnet(address, prefix, "ipv6");

/**
 * True for every address that is not public unicast. IPv4-mapped IPv6 addresses count as their IPv4
 * address.
 */
export function isPrivateAddress(address: string): boolean {
  return !isPlainAddress(address) || isInNetworks(privateAddresses, address);
}

/** An address with a zone belongs to a link of this machine, and is not plain. */
export function isPlainAddress(address: string): boolean {
  return isIP(address) !== 0 && !address.includes("%");
}

/** The address must be plain. */
export function isInNetworks(list: BlockList, address: string): boolean {
  return list.check(address, isIP(address) === 4 ? "ipv4" : "ipv6");
}

/** Returns whether connections to an address are denied. */
export type AddressRule = (address: string) => boolean;

/** A resolver for sockets that drops denied addresses from the result. */
export function restrictedLookup(
  resolve: LookupFunction = lookUp as LookupFunction,
  isRefused: AddressRule = isPrivateAddress,
): LookupFunction {
  return (hostname, options, callback) => {
    resolve(hostname, { ...options, all: true }, (error, found) => {
      if (error !== null) return callback(error, []);
      const addresses = typeof found === "string" ? [] : found;
      const allowed = addresses.filter(({ address }) => !isRefused(address));
      const [first] = allowed;
      if (first === undefined) return callback(refused(hostname), []);
      return options.all === true
        ? callback(null, allowed)
        : callback(null, first.address, first.family);
    });
  };
}

/** A host that is an address already is never resolved, so it is checked here. */
export function deniedHostError(
  hostname: string,
  isRefused: AddressRule = isPrivateAddress,
): Error | undefined {
  const host = hostname.replace(/^\[(.*)\]$/, "$1");
  return isIP(host) !== 0 && isRefused(host) ? refused(host) : undefined;
}

function refused(host: string): Error {
  return new Error(`dial tcp: ${host}: webhooks at private addresses are not allowed here`);
}
