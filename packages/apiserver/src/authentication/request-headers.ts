/**
 * Front proxies: a proxy that has authenticated a user sets the user in headers. The proxy is
 * trusted by its certificate: of an authority for such proxies and, if names are listed, with one
 * of these names. From other clients the headers are ignored, and the next authenticator checks the
 * credentials.
 */
import type { UserInfo } from "../request/index.ts";
import type { Authenticator, Credentials } from "./authenticator.ts";
import { isAuthenticationError } from "./errors.ts";
import { headerValues, unescapeExtraKey } from "./header-values.ts";

/**
 * In lower case. Of several names, the first with a value counts for users and uids; groups are
 * taken from all.
 */
export interface RequestHeaderNames {
  readonly username: readonly string[];
  readonly uid: readonly string[];
  readonly group: readonly string[];
  readonly extraPrefix: readonly string[];
}

export interface RequestHeaderOptions {
  /** The authenticator for the authorities of proxies. */
  readonly certificates: Pick<Authenticator, "authenticate">;
  /** Common names; all certificates of the authorities if empty. */
  readonly allowedNames: readonly string[];
  readonly headers: RequestHeaderNames;
}

export class RequestHeaderAuthenticator implements Authenticator {
  readonly #options: RequestHeaderOptions;
  readonly #names: ReadonlySet<string>;

  constructor(options: RequestHeaderOptions) {
    this.#options = options;
    const { username, uid, group } = options.headers;
    this.#names = new Set([...username, ...uid, ...group]);
  }

  authenticate(credentials: Credentials): UserInfo | undefined {
    const { sentHeaders, clientCertificate } = credentials;
    const { headers: names } = this.#options;
    // The cheap check first: almost no request has such headers.
    if (clientCertificate === undefined || sentHeaders === undefined) return undefined;
    if (!names.username.some((name) => sentHeaders.headers[name] !== undefined)) return undefined;
    if (!this.#isProxy(credentials)) return undefined;
    const values = headerValues(sentHeaders, (name) => this.#isWanted(name));
    const first = (among: readonly string[]) =>
      among.map((name) => values.get(name)?.[0] ?? "").find((value) => value !== "");
    const username = first(names.username);
    if (username === undefined) return undefined;
    const uid = first(names.uid);
    const extra = extraOf(values, names.extraPrefix);
    return {
      username,
      ...(uid === undefined ? {} : { uid }),
      groups: names.group.flatMap((name) => values.get(name) ?? []).filter((group) => group !== ""),
      ...(Object.keys(extra).length === 0 ? {} : { extra }),
    };
  }

  #isWanted(name: string): boolean {
    const { extraPrefix } = this.#options.headers;
    return this.#names.has(name) || extraPrefix.some((prefix) => name.startsWith(prefix));
  }

  #isProxy({ clientCertificate }: Credentials): boolean {
    const { certificates, allowedNames } = this.#options;
    try {
      const proxy = certificates.authenticate({ clientCertificate }) as UserInfo | undefined;
      if (proxy === undefined) return false;
      return allowedNames.length === 0 || allowedNames.includes(proxy.username);
    } catch (error) {
      if (isAuthenticationError(error)) return false;
      throw error;
    }
  }
}

function extraOf(
  values: ReadonlyMap<string, readonly string[]>,
  prefixes: readonly string[],
): Record<string, readonly string[]> {
  const extra = new Map<string, readonly string[]>();
  for (const prefix of prefixes) {
    for (const [name, each] of values) {
      if (!name.startsWith(prefix)) continue;
      const key = unescapeExtraKey(name.slice(prefix.length)).toLowerCase();
      extra.set(key, [...(extra.get(key) ?? []), ...each]);
    }
  }
  return Object.fromEntries(extra);
}
