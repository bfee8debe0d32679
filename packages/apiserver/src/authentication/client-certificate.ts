/**
 * Client certificates: the common name is the user, the organizations are the groups.
 *
 * TLS has proved that the client holds the key; this authenticator checks everything else, because
 * the listener accepts any certificate (clients with tokens may have a certificate of another
 * authority). The issuer must itself be in a pool: certificates that the client sends along are not
 * used to build a chain, so the checks cannot miss an intermediate authority.
 */
import type { X509Certificate } from "node:crypto";
import type { Clock } from "@kcp-ts/machinery/base";
import { credentialIdKey, scopesKey, type UserInfo } from "../request/index.ts";
import type { Authenticator, Credentials } from "./authenticator.ts";
import type { ReloadableClientCa } from "./client-ca.ts";
import { AuthenticationError } from "./errors.ts";
import { withAuthenticatedGroup } from "./request-authenticator.ts";

/**
 * The number of cached verified certificates; beyond it, the least recently used is verified again.
 */
export const verifiedCertificateCacheMax = 4096;

export interface ClientCertificateOptions {
  readonly authorities: readonly ReloadableClientCa[];
  readonly clock: Pick<Clock, "now">;
  readonly cacheEntriesMax?: number;
}

/**
 * The result of a verification; valid as long as `pool` is in use and the time is within the
 * validity.
 */
interface Verified extends Validity {
  readonly source: ReloadableClientCa;
  readonly pool: readonly X509Certificate[];
  /** Undefined for a certificate without a common name, which is valid but has no user. */
  readonly user: UserInfo | undefined;
}

export class ClientCertificateAuthenticator implements Authenticator {
  readonly #options: ClientCertificateOptions;
  readonly #cacheEntriesMax: number;
  /**
   * By fingerprint, the least recently used first. Rejections are not cached: unauthenticated
   * clients would fill the cache with them.
   */
  readonly #verified = new Map<string, Verified>();

  constructor(options: ClientCertificateOptions) {
    this.#options = options;
    this.#cacheEntriesMax = options.cacheEntriesMax ?? verifiedCertificateCacheMax;
  }

  authenticate({ clientCertificate }: Credentials): UserInfo | undefined {
    if (clientCertificate === undefined || this.#options.authorities.length === 0) return undefined;
    const fingerprint = clientCertificate.fingerprint256;
    const now = this.#options.clock.now();
    const known = this.#verified.get(fingerprint);
    const verified =
      known !== undefined && isWithin(known, now) && known.pool === known.source.certificates
        ? known
        : verify(clientCertificate, this.#options.authorities, now);
    this.#cache(fingerprint, verified);
    return verified.user;
  }

  #cache(fingerprint: string, verified: Verified): void {
    this.#verified.delete(fingerprint);
    this.#verified.set(fingerprint, verified);
    if (this.#verified.size <= this.#cacheEntriesMax) return;
    const [oldest] = this.#verified.keys();
    if (oldest !== undefined) this.#verified.delete(oldest);
  }
}

const anyExtendedKeyUsage = "2.5.29.37.0";
const clientAuth = "1.3.6.1.5.5.7.3.2";

/**
 * Runs the cheap checks first. A renewed authority is in the pool twice, and one of the two may be
 * expired.
 */
function verify(
  certificate: X509Certificate,
  sources: readonly ReloadableClientCa[],
  now: number,
): Verified {
  if (!isWithin(validity(certificate), now)) throw refusal("it is not valid at this time");
  // `keyUsage` is Node's name for the extended key usage. A certificate without one is valid for
  // every use (RFC 5280 4.2.1.12).
  const usages: readonly string[] | undefined = certificate.keyUsage;
  if (usages && !usages.includes(clientAuth) && !usages.includes(anyExtendedKeyUsage)) {
    throw refusal("it is not meant for client authentication");
  }
  for (const source of sources) {
    const pool = source.certificates;
    const issuer = pool.find(
      (authority) =>
        isWithin(validity(authority), now) &&
        certificate.checkIssued(authority) &&
        certificate.verify(authority.publicKey),
    );
    if (issuer === undefined) continue;
    const [own, above] = [validity(certificate), validity(issuer)];
    return {
      source,
      pool,
      notBefore: Math.max(own.notBefore, above.notBefore),
      notAfter: Math.min(own.notAfter, above.notAfter),
      user: userOf(certificate),
    };
  }
  throw refusal("it was not issued by a known authority whose own certificate is valid");
}

interface Validity {
  readonly notBefore: number;
  readonly notAfter: number;
}

function validity(certificate: X509Certificate): Validity {
  return {
    notBefore: Date.parse(certificate.validFrom),
    notAfter: Date.parse(certificate.validTo),
  };
}

function isWithin({ notBefore, notAfter }: Validity, now: number): boolean {
  return notBefore <= now && now <= notAfter;
}

/**
 * As in Kubernetes: of several common names the last counts, organizations keep their order, and a
 * uid may have an OID of its own.
 */
function userOf(certificate: X509Certificate): UserInfo | undefined {
  const subject = certificate.toLegacyObject().subject as unknown as SubjectAttributes;
  const username = values(subject, "CN").at(-1);
  if (!username) return undefined;
  const uids = values(subject, userIdIdentifier);
  if (uids.length > 1) throw refusal("its subject has more than one uid");
  const cluster = clusterOf(subject);
  const fingerprint = certificate.fingerprint256.replaceAll(":", "").toLowerCase();
  return withAuthenticatedGroup({
    username,
    ...(uids[0] === undefined ? {} : { uid: uids[0] }),
    groups: values(subject, "O"),
    extra: {
      [credentialIdKey]: [`X509SHA256=${fingerprint}`],
      ...(cluster === undefined ? {} : { [scopesKey]: [`cluster:${cluster}`] }),
    },
  });
}

const clusterUnitPrefix = "kcp:cluster:";

/**
 * The organizational unit of a certificate that was approved in a logical cluster: in other
 * clusters, its holder is no known user.
 */
export function clusterOrganizationalUnit(cluster: string): string {
  return clusterUnitPrefix + cluster;
}

function clusterOf(subject: SubjectAttributes): string | undefined {
  const units = values(subject, "OU").filter((unit) => unit.startsWith(clusterUnitPrefix));
  if (units.length > 1) throw refusal("it is of more than one logical cluster");
  return units[0]?.slice(clusterUnitPrefix.length);
}

/** Node's types only contain the well-known attributes, and not that these may repeat. */
type SubjectAttributes = Readonly<Record<string, string | readonly string[]>>;

const userIdIdentifier = "1.3.6.1.4.1.57683.2";

function values(subject: SubjectAttributes, attribute: string): readonly string[] {
  const value = Object.hasOwn(subject, attribute) ? subject[attribute] : undefined;
  if (value === undefined) return [];
  return typeof value === "string" ? [value] : value;
}

function refusal(reason: string): AuthenticationError {
  return new AuthenticationError("invalid-certificate", `client certificate refused: ${reason}`);
}
