/**
 * A test server's options with tokens for service accounts, in addition to the users of every test
 * server.
 */
import { generateKeyPairSync } from "node:crypto";
import type { Clock } from "@kcp-ts/machinery/base";
import {
  BearerTokenAuthenticator,
  IssuerDocuments,
  RequestAuthenticator,
  ServiceAccountAuthenticator,
  ServiceAccountTokenIssuer,
  signingKey,
  verificationKeyOf,
} from "../authentication/index.ts";
import type { FakeClock } from "./fake-clock.ts";
import { TestServer, type TestServerOptions, testTokens } from "./test-server.ts";

export const testIssuer = "https://kcp.default.svc";

/** Starts a server whose service accounts can have tokens. */
export async function startWithServiceAccounts(
  options: TestServerOptions = {},
): Promise<
  TestServer & {
    readonly issuer: ServiceAccountTokenIssuer;
    readonly authenticator: RequestAuthenticator;
  }
> {
  const key = signingKey(generateKeyPairSync("ec", { namedCurve: "P-256" }).privateKey, "test");
  const keys = [verificationKeyOf(key)];
  let clock: FakeClock | undefined;
  let authenticator: RequestAuthenticator | undefined;
  const now: Pick<Clock, "now"> = { now: () => (clock as FakeClock).now() };
  const audiences = [testIssuer];
  const issuer = new ServiceAccountTokenIssuer({
    issuer: testIssuer,
    audiences,
    key: () => key,
    clock: now,
  });
  const server = await TestServer.start({
    ...options,
    authenticator: (objects) => {
      const accounts = new ServiceAccountAuthenticator({
        issuers: [testIssuer],
        audiences,
        keys: () => keys,
        objects,
        clock: now,
      });
      authenticator = new RequestAuthenticator({
        authenticators: [new BearerTokenAuthenticator([accounts, testTokens()], audiences)],
        anonymous: true,
      });
      return authenticator;
    },
    tokens: issuer,
    issuerDocuments: new IssuerDocuments({
      issuer: testIssuer,
      keySetUrl: () => "https://keys.example/jwks",
      keys: () => keys,
    }),
  });
  clock = server.clock;
  return Object.assign(server, {
    issuer,
    authenticator: authenticator as unknown as RequestAuthenticator,
  });
}
