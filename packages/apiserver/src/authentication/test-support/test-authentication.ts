/**
 * For tests: a RequestAuthenticator with every kind of credential, over accounts and a clock that
 * the test controls.
 */
import assert from "node:assert/strict";
import { generateKeyPairSync, type X509Certificate } from "node:crypto";
import { rootCluster } from "@kcp-ts/machinery/names";
import {
  type AccountObject,
  adminTokens,
  BearerTokenAuthenticator,
  ClientCertificateAuthenticator,
  hashToken,
  IssuerAuthenticator,
  isAuthenticationError,
  issuerOfFlags,
  parseTokenFile,
  ReloadableClientCa,
  RequestAuthenticator,
  ServiceAccountAuthenticator,
  ServiceAccountTokenIssuer,
  StaticTokenAuthenticator,
  signingKey,
  toJsonWebKey,
  verificationKeyOf,
} from "../index.ts";
import { fixtures } from "../testdata/certificates.ts";

export const startMs = Date.parse("2026-11-20T00:00:00Z");
export const own = "https://kcp.example";
export const foreign = "https://issuer.example";
const newKey = (kind: "rsa" | "ec") =>
  signingKey(
    kind === "rsa"
      ? generateKeyPairSync("rsa", { modulusLength: 2048 }).privateKey
      : generateKeyPairSync("ec", { namedCurve: "P-256" }).privateKey,
    kind,
  );
export const [ownKey, foreignKey, strangersRsa, strangersEc] = [
  newKey("ec"),
  newKey("rsa"),
  newKey("rsa"),
  newKey("ec"),
];
export const adminToken = "admin-token-0123456789";
export const fileToken = "file-token-0123456789";
const account = { cluster: rootCluster, namespace: "ns", name: "sa", uid: "u1" };

export class TestAuthentication {
  now = startMs;
  readonly objects = new Map<string, AccountObject>();
  readonly fileTokens = new StaticTokenAuthenticator(
    parseTokenFile(`${fileToken},bob,7,devs`, "f"),
  );
  readonly authorities = new ReloadableClientCa(fixtures.authorityA, "ca.crt");
  readonly #issuer: ServiceAccountTokenIssuer;
  readonly #gate: RequestAuthenticator;

  constructor() {
    const clock = { now: () => this.now };
    const set = { keys: [toJsonWebKey(verificationKeyOf(foreignKey))] };
    const keys = [verificationKeyOf(ownKey)];
    this.#issuer = new ServiceAccountTokenIssuer({
      issuer: own,
      audiences: [own],
      key: () => ownKey,
      clock,
    });
    const accounts = new ServiceAccountAuthenticator({
      issuers: [own],
      audiences: [own],
      keys: () => keys,
      objects: {
        getter:
          (resource, { name }) =>
          () =>
            this.objects.get(`${resource}/${name}`),
      },
      clock,
    });
    const issuers = new IssuerAuthenticator({
      issuer: issuerOfFlags({ issuerUrl: foreign, clientId: "kcp", usernamePrefix: "-" }),
      apiAudiences: [own],
      fetch: async (url) =>
        url.endsWith("/keys")
          ? JSON.parse(JSON.stringify(set))
          : { issuer: foreign, jwks_uri: `${foreign}/keys` },
      clock,
      onError: (error) => assert.fail(String(error)),
    });
    const admins = new StaticTokenAuthenticator(
      adminTokens({ adminTokenHash: hashToken(adminToken), shardAdminTokenHash: hashToken("y") }),
    );
    this.#gate = new RequestAuthenticator({
      authenticators: [
        new ClientCertificateAuthenticator({ authorities: [this.authorities], clock }),
        new BearerTokenAuthenticator([accounts, admins, this.fileTokens, issuers], [own]),
      ],
      // A rejected credential is not the same as none.
      anonymous: true,
    });
    const there = { uid: "u1", deletedAt: undefined };
    this.objects.set("serviceaccounts/sa", { ...there, token: undefined });
    this.objects.set("secrets/s", { ...there, token: this.issueForSecret() });
  }

  issue(): string {
    const wish = { account, audiences: [own], expirationSeconds: 3600, secret: undefined };
    return this.#issuer.issue(wish).token;
  }

  issueForSecret(): string {
    return this.#issuer.issueForSecret(account, "s");
  }

  outcome(token: string): Promise<string> {
    return said(async () => await this.#gate.authenticate({ authorization: `Bearer ${token}` }));
  }

  reviewed(token: string, audiences: readonly string[]): Promise<string> {
    return said(async () => (await this.#gate.reviewToken(token, audiences)).user);
  }

  ofCertificate(clientCertificate: X509Certificate): Promise<string> {
    return said(async () => await this.#gate.authenticate({ clientCertificate }));
  }
}

/** The user's name, or `refused: ` and the reason. */
async function said(ask: () => Promise<{ readonly username: string }>): Promise<string> {
  try {
    return (await ask()).username;
  } catch (error) {
    if (isAuthenticationError(error)) return `refused: ${error.message}`;
    throw error;
  }
}
