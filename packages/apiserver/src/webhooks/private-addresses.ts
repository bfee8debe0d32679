/**
 * Addresses that a tenant's webhook or kubeconfig may not lead to when the operator says so: this machine, its neighbours, and what cloud providers
 * put on link-local addresses.
 *
 * Names are resolved first and the connection goes to an address that was looked at, so that a name which changes its answer in
 * between gains nothing.
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
  // Azure's, for the machines that it runs.
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

/** True for what is no public unicast address. IPv4 addresses inside IPv6 ones count as what they are. */
export function isPrivateAddress(address: string): boolean {
  return !isPlainAddress(address) || isInNetworks(privateAddresses, address);
}

/** One with a zone is of some link of this machine, and nobody's business but its own. */
export function isPlainAddress(address: string): boolean {
  return isIP(address) !== 0 && !address.includes("%");
}

/** Of a plain address. */
export function isInNetworks(list: BlockList, address: string): boolean {
  return list.check(address, isIP(address) === 4 ? "ipv4" : "ipv6");
}

/** Says of an address whether no connection may go there. */
export type AddressRule = (address: string) => boolean;

/** The resolver that sockets use, with refused addresses taken out of its answers. */
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

/** A host that is an address already is never looked up, so it is asked for here. */
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
