/**
 * Goal: the number of configurations of a type is limited, and documents of issuers are not fetched
 * from denied addresses.
 */
import assert from "node:assert/strict";
import { generateKeyPairSync } from "node:crypto";
import { describe, it } from "node:test";
import type { ClusterName } from "@kcp-ts/machinery/names";
import { FakeClock } from "../testing/index.ts";
import { tenantDocuments } from "../webhooks/index.ts";
import {
  ClusterTokens,
  configurationsMax,
  isAuthenticationError,
  signingKey,
  signJsonWebToken,
  toJsonWebKey,
  tokenLengthMax,
  verificationKeyOf,
} from "./index.ts";

const cluster = "one" as ClusterName;
const key = signingKey(generateKeyPairSync("ec", { namedCurve: "P-256" }).privateKey, "test");
const issuerUrl = (at: number) => `https://issuer-${at}.example.com`;

function setUp(count: number) {
  const clock = new FakeClock();
  const fetched: string[] = [];
  const errors: unknown[] = [];
  const configurations = Array.from({ length: count }, (_, at) => ({
    name: `c${at}`,
    jwt: [
      {
        issuer: { url: issuerUrl(at), audiences: ["team"] },
        claimMappings: { username: { claim: "sub" } },
      },
    ],
  }));
  const tokens = new ClusterTokens({
    issuersIn: async () => configurations,
    apiAudiences: ["kcp"],
    clock,
    onError: (error) => errors.push(error),
    fetch: async (url) => {
      fetched.push(url);
      if (url.endsWith("/keys")) return { keys: [toJsonWebKey(verificationKeyOf(key))] };
      const issuer = url.slice(0, url.indexOf("/.well-known"));
      return { issuer, jwks_uri: `${issuer}/keys` };
    },
  });
  const token = (at: number, claims: object = {}) =>
    signJsonWebToken(
      {
        iss: issuerUrl(at),
        sub: "fred",
        aud: ["team", "kcp"],
        exp: Math.floor(clock.now() / 1000) + 60,
        ...claims,
      },
      key,
    );
  return { tokens, token, fetched, errors };
}

describe("issuers of a workspace type", () => {
  it(`are those of its first ${configurationsMax} configurations`, async () => {
    const { tokens, token, fetched } = setUp(configurationsMax + 1);
    const last = await tokens.authenticate(token(configurationsMax - 1), cluster);
    assert.equal(last?.username, "fred");
    const count = fetched.length;
    assert.equal(await tokens.authenticate(token(configurationsMax), cluster), undefined);
    assert.equal(fetched.length, count);
  });

  it("do not process tokens that are not theirs", async () => {
    const { tokens, token, fetched } = setUp(1);
    for (const text of ["", "abc", "a.b.c", `${token(0)}${"x".repeat(tokenLengthMax)}`])
      assert.equal(await tokens.authenticate(text, cluster), undefined);
    assert.equal(await tokens.authenticate(token(7), cluster), undefined);
    assert.deepEqual(fetched, []);
  });

  it("do not process tokens that are not for this server", async () => {
    const { tokens, token, fetched } = setUp(1);
    await assert.rejects(tokens.authenticate(token(0, { aud: ["team"] }), cluster), (error) =>
      isAuthenticationError(error, "other-audience"),
    );
    assert.deepEqual(fetched, []);
  });

  it("do not fetch documents from private addresses where these are denied", async () => {
    const fetch = tenantDocuments({ clock: new FakeClock(), denyPrivateAddresses: true });
    for (const host of ["127.0.0.1", "169.254.169.254", "[::1]"])
      await assert.rejects(
        fetch(`https://${host}/keys`, { certificateAuthority: undefined }),
        /private addresses are not allowed/,
      );
  });
});
