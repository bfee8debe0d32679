import assert from "node:assert/strict";
import { describe, it } from "node:test";
import {
  BearerTokenAuthenticator,
  hashToken,
  isAuthenticationError,
  parseBearerToken,
  RequestAuthenticator,
  StaticTokenAuthenticator,
  type TokenAuthenticator,
  tokenLengthMax,
} from "./index.ts";

const alice = { username: "alice", groups: ["developers"] };

function knowing(token: string): TokenAuthenticator {
  return new StaticTokenAuthenticator([{ tokenHash: hashToken(token), user: alice }]);
}

describe("the Authorization header", () => {
  const headers: readonly (readonly [string, string | undefined])[] = [
    ["Bearer abc", "abc"],
    ["bearer abc", "abc"],
    ["BEARER abc", "abc"],
    ["  Bearer abc  ", "abc"],
    ["Bearer abc def", "abc"],
    ["Bearer abc,def", "abc,def"],
    ["Bearer a=b", "a=b"],
    ["Bearer", undefined],
    ["Bearer ", undefined],
    ["Bearer  abc", undefined],
    ["Bearer\tabc", undefined],
    ["Bearer:abc", undefined],
    ["Bearerabc", undefined],
    ["Basic YTpi", undefined],
    ["abc", undefined],
    ["", undefined],
    [" ", undefined],
  ];
  for (const [header, token] of headers) {
    it(`${JSON.stringify(header)} holds ${token === undefined ? "no token" : `the token ${token}`}`, () => {
      assert.equal(parseBearerToken(header), token);
    });
  }
});

describe("bearer tokens", () => {
  it("have the user that the token authenticator returns", () => {
    const authenticator = new BearerTokenAuthenticator([knowing("abc")]);
    assert.deepEqual(authenticator.authenticate({ authorization: "Bearer abc" }), {
      username: "alice",
      groups: ["developers", "system:authenticated"],
    });
  });

  it("that are absent have no user", () => {
    const authenticator = new BearerTokenAuthenticator([knowing("abc")]);
    for (const authorization of [undefined, "", "Bearer", "Bearer ", "Basic YTpi"]) {
      assert.equal(authenticator.authenticate({ authorization }), undefined);
    }
  });

  it("that are unknown are rejected, near misses included, without naming the token", () => {
    const authenticator = new BearerTokenAuthenticator([knowing("secret-abc")]);
    for (const token of ["secret-ab", "secret-abcd", "secret-abC", "Secret-abc", "__proto__"]) {
      assert.throws(
        () => authenticator.authenticate({ authorization: `Bearer ${token}` }),
        (error: unknown) =>
          isAuthenticationError(error, "invalid-token") && !error.message.includes(token),
      );
    }
    assert.throws(
      () => new BearerTokenAuthenticator([]).authenticate({ authorization: "Bearer abc" }),
      (error: unknown) => isAuthenticationError(error, "invalid-token"),
    );
  });

  it("that exceed the maximum length are rejected without a check", () => {
    const longest = "x".repeat(tokenLengthMax);
    const authenticator = new BearerTokenAuthenticator([knowing(longest), knowing(`${longest}x`)]);
    const authorization = `Bearer ${longest}`;
    assert.notEqual(authenticator.authenticate({ authorization }), undefined);
    assert.throws(
      () => authenticator.authenticate({ authorization: `${authorization}x` }),
      (error: unknown) => isAuthenticationError(error, "token-too-long"),
    );
  });

  it("are tried with every authenticator, including asynchronous ones", async () => {
    const slow: TokenAuthenticator = {
      authenticateToken: async (token) =>
        token === "slow" ? { username: "bob", groups: [] } : undefined,
    };
    const authenticator = new BearerTokenAuthenticator([slow, knowing("abc")]);
    const ask = async (token: string) =>
      (await authenticator.authenticate({ authorization: `Bearer ${token}` }))?.username;
    assert.equal(await ask("slow"), "bob");
    assert.equal(await ask("abc"), "alice");
    await assert.rejects(ask("other"), (error) => isAuthenticationError(error, "invalid-token"));
  });
});

describe("token reviews", () => {
  const audienceAware: TokenAuthenticator = {
    authenticateToken: () => undefined,
    reviewToken: async (token, audiences) =>
      token === "signed"
        ? { user: { username: "signed", groups: [] }, audiences: audiences.slice(0, 1) }
        : undefined,
  };
  const bearer = new BearerTokenAuthenticator([knowing("abc"), audienceAware], ["us", "me"]);
  const gate = new RequestAuthenticator({ authenticators: [bearer], anonymous: true });

  it("of tokens without audiences return the audiences of this server", async () => {
    assert.deepEqual(await gate.reviewToken("abc", ["x", "me"]), {
      user: { username: "alice", groups: ["developers", "system:authenticated"] },
      audiences: ["me"],
    });
    const { audiences } = await gate.reviewToken("abc");
    assert.deepEqual(audiences, ["us", "me"]);
    await assert.rejects(gate.reviewToken("abc", ["x"]), (error: unknown) =>
      isAuthenticationError(error, "invalid-token"),
    );
  });

  it("of tokens with audiences call their authenticator, with this server's audiences by default", async () => {
    const { user, audiences } = await gate.reviewToken("signed", ["x"]);
    assert.deepEqual([user.username, audiences], ["signed", ["x"]]);
    assert.deepEqual((await gate.reviewToken("signed")).audiences, ["us"]);
  });

  it("reject unknown or too long tokens, even if anonymous requests are allowed", async () => {
    for (const [token, code] of [
      ["other", "invalid-token"],
      ["x".repeat(tokenLengthMax + 1), "token-too-long"],
    ] as const) {
      await assert.rejects(gate.reviewToken(token), (error: unknown) =>
        isAuthenticationError(error, code),
      );
    }
  });
});
