/**
 * Connections to permitted addresses only, for URLs from untrusted sources.
 *
 * The connection itself resolves a name, and the resolved addresses are checked there: a name that
 * resolves differently between a check and the connection gains nothing.
 */
import { lookup as lookUp } from "node:dns";
import { isIP, type LookupFunction } from "node:net";

/** Whether a connection to the address may be made. */
export type PermitsAddress = (address: string) => boolean;

/**
 * The resolver of a socket, without addresses that are not permitted. Throws for a host that is
 * such an address itself.
 */
export function permittedOnly(
  host: string,
  permits: PermitsAddress | undefined,
  resolve: LookupFunction = lookUp as LookupFunction,
): { readonly lookup?: LookupFunction } {
  if (permits === undefined) return {};
  // A literal address is never looked up, so it is checked here.
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
