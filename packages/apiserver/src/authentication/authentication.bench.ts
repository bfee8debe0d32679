/**
 * The cost of authentication, beside the cost of a get.
 *
 *     node packages/apiserver/dist/authentication/authentication.bench.js
 */
import { generateKeyPairSync } from "node:crypto";
import { systemClock } from "@kcp-ts/machinery/base";
import { rootCluster } from "@kcp-ts/machinery/names";
import { bootstrapAuthorizer, unionAuthorizer } from "../authorization/index.ts";
import type { ApiRequest } from "../request/api-request.ts";
import { startWithServiceAccounts, testTokens } from "../testing/index.ts";
import {
  BearerTokenAuthenticator,
  RequestAuthenticator,
  ServiceAccountAuthenticator,
  ServiceAccountTokenIssuer,
  signingKey,
  verificationKeyOf,
} from "./index.ts";

const rounds = 200_000;

function measure(title: string, count: number, body: () => unknown): void {
  for (let at = 0; at < count / 10; at++) body();
  const startedAt = systemClock.monotonic();
  for (let at = 0; at < count; at++) body();
  const us = ((systemClock.monotonic() - startedAt) * 1000) / count;
  console.log(`${title.padEnd(52)} ${us.toFixed(2).padStart(8)} us`);
}

const key = signingKey(generateKeyPairSync("ec", { namedCurve: "P-256" }).privateKey, "bench");
const audiences = ["https://kcp.default.svc"];
const issuer = new ServiceAccountTokenIssuer({
  issuer: audiences[0] as string,
  audiences,
  key: () => key,
  clock: systemClock,
});
const account = { cluster: rootCluster, namespace: "default", name: "robot", uid: "u" };
const { token } = issuer.issue({ account, audiences, expirationSeconds: 3600 });
const gateWith = (cacheEntriesMax: number) => {
  const keys = [verificationKeyOf(key)];
  const accounts = new ServiceAccountAuthenticator({
    issuers: audiences,
    audiences,
    keys: () => keys,
    objects: { getter: () => () => ({ uid: "u", deletedAt: undefined, token: undefined }) },
    clock: systemClock,
    cacheEntriesMax,
  });
  const bearer = new BearerTokenAuthenticator([accounts, testTokens()], audiences);
  return new RequestAuthenticator({ authenticators: [bearer], anonymous: true });
};
const cached = gateWith(4096);
const uncached = gateWith(0);
const credentials = { authorization: `Bearer ${token}` };
const fixed = { authorization: "Bearer token-of-admin" };

measure("sign a token (ES256)", 2000, () =>
  issuer.issue({ account, audiences, expirationSeconds: 3600 }),
);
measure("a token, its signature verified", 2000, () => uncached.authenticate(credentials));
measure("a token that is remembered", rounds, () => cached.authenticate(credentials));
measure("a static token", rounds, () => cached.authenticate(fixed));
const headers = {
  ":method": "GET",
  ":path": "/api/v1/namespaces/default/configmaps/c",
  ":scheme": "https",
  ":authority": "127.0.0.1:6443",
  accept: "application/json",
  "accept-encoding": "gzip",
  "user-agent": "kubectl/v1.36.0 (linux/amd64) kubernetes/abcdef",
  authorization: `Bearer ${token}`,
};

const server = await startWithServiceAccounts({
  authorization: () =>
    unionAuthorizer([{ authorize: () => ({ allowed: true, reason: "" }) }, bootstrapAuthorizer]),
});
const base = "/api/v1/namespaces/default";
await server.requestOk("POST", `${base}/configmaps`, { body: { metadata: { name: "c" } } });
await server.requestOk("POST", `${base}/serviceaccounts`, {
  body: { metadata: { name: "robot" } },
});
const { status } = await server.requestOk("POST", `${base}/serviceaccounts/robot/token`, {
  body: {},
});
const request = (authorization: string): ApiRequest => ({
  method: "GET",
  target: `${base}/configmaps/c`,
  headers: { ...headers, authorization },
  remoteAddress: "",
  clientCertificate: undefined,
  onClose: () => {},
  readBody: async () => new Uint8Array(),
});
const asRobot = request(`Bearer ${(status as { token: string }).token}`);
const asAdmin = request("Bearer token-of-admin");
measure("a get in process, static token", rounds / 4, () => server.server.handle(asAdmin));
measure("a get in process, a service account's token", rounds / 4, () =>
  server.server.handle(asRobot),
);
await server.close();
