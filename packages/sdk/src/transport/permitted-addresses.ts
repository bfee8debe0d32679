/**
 * Connections to permitted addresses only, for those who connect where somebody else tells them to.
 *
 * A name is resolved by the connection itself, and what it resolves to is looked at there: a name that changes its answer between a check and
 * the connection gains nothing.
 */
import { lookup as lookUp } from "node:dns";
import { isIP, type LookupFunction } from "node:net";

/** Whether a connection to the address may be made. */
export type PermitsAddress = (address: string) => boolean;

/** For a socket: its resolver, with what is not permitted taken out of the answers. Throws for a host that is such an address itself. */
export function permittedOnly(
  host: string,
  permits: PermitsAddress | undefined,
  resolve: LookupFunction = lookUp as LookupFunction,
): { readonly lookup?: LookupFunction } {
  if (permits === undefined) return {};
  // Never looked up, so it is asked for here.
  if (isIP(host) !== 0 && !permits(host)) throw notPermitted(host);
  return { lookup: permittedLookup(permits, resolve) };
}

function permittedLookup(permits: PermitsAddress, resolve: LookupFunction): LookupFunction {
  return (hostname, options, callback) => {
    resolve(hostname, { ...options, all: true }, (error, found) => {
      if (error !== null) return callback(error, []);
      const addresses = typeof found === "string" ? [] : found;
      const permitted = addresses.filter(({ address }) => permits(address));
      const [first] = permitted;
      if (first === undefined) return callback(notPermitted(hostname), []);
      return options.all === true
        ? callback(null, permitted)
        : callback(null, first.address, first.family);
    });
  };
}

function notPermitted(host: string): Error {
  return new Error(`${host} leads to an address that is not allowed here`);
}
