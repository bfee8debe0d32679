import assert from "node:assert/strict";
import { generateKeyPairSync } from "node:crypto";
import { describe, it } from "node:test";
import type { UserInfo } from "../../request/index.ts";
import {
  AuthenticationConfigurationError,
  BearerTokenAuthenticator,
  fetchIntervalMinMs,
  groupsMax,
  IssuerAuthenticator,
  isAuthenticationError,
  issuerOfFlags,
  issuersMax,
  type JwtIssuer,
  keysAgeMaxMs,
  notBeforeSkewMs,
  type OidcFlags,
  parseAuthenticationConfiguration,
  ReloadableTokenAuthenticator,
  RequestAuthenticator,
  type SigningKey,
  signingKey,
  signJsonWebToken,
  type TokenIdentity,
  toJsonWebKey,
  verificationKeyOf,
} from "../index.ts";

const url = "https://issuer.example";
const startMs = Date.UTC(2026, 0, 1);
const rsaKey = signingKey(generateKeyPairSync("rsa", { modulusLength: 2048 }).privateKey, "rsa");
const newKey = () =>
  signingKey(generateKeyPairSync("ec", { namedCurve: "P-256" }).privateKey, "ec");

/** An issuer and a server that trusts it, connected by a fetch that the test can break. */
class World {
  now = startMs;
  fetches = 0;
  isDown = false;
  key: SigningKey = rsaKey;
  published: SigningKey[] = [rsaKey];
  discovery: object = { issuer: url, jwks_uri: `${url}/keys` };
  readonly errors: unknown[] = [];
  readonly #gate: RequestAuthenticator;

  constructor(issuer: JwtIssuer = issuerOfFlags({ issuerUrl: url, clientId: "kcp" })) {
    const authenticator = new IssuerAuthenticator({
      issuer,
      apiAudiences: ["us"],
      fetch: async (asked) => {
        this.fetches++;
        if (this.isDown) throw new Error("connection refused");
        if (asked.endsWith("/.well-known/openid-configuration")) return this.discovery;
        return JSON.parse(
          JSON.stringify({
            keys: this.published.map((key) => toJsonWebKey(verificationKeyOf(key))),
          }),
        );
      },
      clock: { now: () => this.now },
      onError: (error) => this.errors.push(error),
      cacheEntriesMax: 3,
    });
    this.#gate = new RequestAuthenticator({
      authenticators: [new BearerTokenAuthenticator([authenticator], ["us"])],
      anonymous: false,
    });
  }

  token(claims: object = {}, key = this.key): string {
    const exp = this.now / 1000 + 3600;
    return signJsonWebToken({ iss: url, aud: "kcp", sub: "alice", exp, ...claims }, key);
  }

  async user(token: string): Promise<UserInfo> {
    return this.#gate.authenticate({ authorization: `Bearer ${token}` });
  }

  /** Authenticates synchronously. */
  atOnce(token: string): string | undefined {
    const user = this.#gate.authenticate({ authorization: `Bearer ${token}` });
    return user instanceof Promise ? undefined : user.username;
  }

  async outcome(token: string): Promise<string> {
    try {
      return (await this.user(token)).username;
    } catch (error) {
      if (isAuthenticationError(error)) return error.message;
      throw error;
    }
  }

  review(token: string, audiences: string[]) {
    return this.#gate.reviewToken(token, audiences);
  }
}

const alice = `${url}#alice`;
const flags = (more: Partial<OidcFlags>) =>
  issuerOfFlags({ issuerUrl: url, clientId: "kcp", ...more });

describe("tokens of an external issuer", () => {
  it("name a user, prefixed with the issuer unless configured otherwise", async () => {
    assert.equal(await new World().outcome(new World().token()), alice);
    const cases: readonly (readonly [Partial<OidcFlags>, object, string])[] = [
      [{ usernamePrefix: "oidc:" }, {}, "oidc:alice"],
      [{ usernamePrefix: "-" }, {}, "alice"],
      [{ usernameClaim: "email" }, { email: "a@b" }, "a@b"],
      [{ usernameClaim: "email" }, { email: "a@b", email_verified: true }, "a@b"],
      [{ usernameClaim: "name", usernamePrefix: "" }, { name: "Al" }, "Al"],
    ];
    for (const [given, claims, expected] of cases) {
      const world = new World(flags(given));
      assert.equal(await world.outcome(world.token(claims)), expected);
    }
  });

  it("contain groups, as a list or as a string", async () => {
    const world = new World(flags({ groupsClaim: "groups", groupsPrefix: "g:" }));
    const groups = async (claims: object) => (await world.user(world.token(claims))).groups;
    assert.deepEqual(await groups({ groups: ["a", "b"] }), ["g:a", "g:b", "system:authenticated"]);
    assert.deepEqual(await groups({ groups: "a" }), ["g:a", "system:authenticated"]);
    assert.deepEqual(await groups({}), ["system:authenticated"]);
    const many = (length: number) => Array.from({ length }, () => "g");
    assert.equal((await groups({ groups: many(groupsMax) })).length, groupsMax + 1);
    await assert.rejects(groups({ groups: many(groupsMax + 1) }), /more than 2000 values/);
  });

  const refused: readonly (readonly [string, (world: World) => string, Partial<OidcFlags>?])[] = [
    ["expired", (world) => world.token({ exp: world.now / 1000 })],
    ["without an end", (world) => world.token({ exp: undefined })],
    ["not valid yet", (world) => world.token({ nbf: (world.now + notBeforeSkewMs) / 1000 + 1 })],
    ["for another audience", (world) => world.token({ aud: "other" })],
    ["for other audiences", (world) => world.token({ aud: ["a", "b"] })],
    ["without an audience", (world) => world.token({ aud: undefined })],
    ["of another issuer", (world) => world.token({ iss: `${url}/` })],
    ["without a subject", (world) => world.token({ sub: undefined })],
    ["with an empty subject", (world) => world.token({ sub: "" })],
    ["with a subject that is no text", (world) => world.token({ sub: ["alice"] })],
    ["of an unpublished key", (world) => world.token({}, newKey())],
    [
      "of an algorithm that is not allowed",
      (world) => world.token(),
      { signingAlgorithms: ["ES256"] },
    ],
    ["without a claim that is required", (world) => world.token(), { requiredClaims: ["hd=acme"] }],
    [
      "with another value of a claim that is required",
      (world) => world.token({ hd: "x" }),
      { requiredClaims: ["hd=acme"] },
    ],
    [
      "with an address that is not verified",
      (world) => world.token({ email: "a", email_verified: false }),
      { usernameClaim: "email" },
    ],
    [
      "with groups that are no texts",
      (world) => world.token({ groups: [1] }),
      { groupsClaim: "groups" },
    ],
    [
      "with a user that prototypes have",
      (world) => world.token(),
      { usernameClaim: "constructor" },
    ],
  ];
  for (const [title, make, given = {}] of refused) {
    it(`are rejected: ${title}`, async () => {
      const world = new World(flags(given));
      assert.match(await world.outcome(make(world)), /refused|invalid bearer token/);
    });
  }

  it("are valid until their expiration and not a moment longer, cached or not", async () => {
    const world = new World();
    const token = world.token({
      exp: world.now / 1000 + 10,
      nbf: (world.now + notBeforeSkewMs) / 1000,
    });
    assert.equal(await world.outcome(token), alice);
    world.now += 9_999;
    assert.equal(await world.outcome(token), alice);
    world.now += 1;
    assert.match(await world.outcome(token), /expired/);
  });

  it("are reviewed for this server's audiences only", async () => {
    const world = new World();
    const { audiences } = (await world.review(world.token(), ["us", "x"])) as TokenIdentity;
    assert.deepEqual(audiences, ["us"]);
    await assert.rejects(async () => world.review(world.token(), ["kcp"]), /invalid bearer token/);
  });
});

describe("the keys of an external issuer", () => {
  it("are fetched once, and again when a token names an unknown key, at a limited rate", async () => {
    const world = new World();
    for (let at = 0; at < 5; at++) await world.outcome(world.token({ jti: `${at}` }));
    assert.equal(world.fetches, 2);
    const rotated = newKey();
    world.published = [rsaKey, rotated];
    const issuer = { ...flags({ signingAlgorithms: ["RS256", "ES256"] }) };
    const second = new World(issuer);
    await second.outcome(second.token());
    assert.equal(second.fetches, 2);
    second.published = [rsaKey, rotated];
    assert.match(await second.outcome(second.token({}, rotated)), /signature/);
    assert.equal(second.fetches, 2, "too soon");
    second.now += fetchIntervalMinMs;
    assert.equal(await second.outcome(second.token({}, rotated)), alice);
    assert.equal(second.fetches, 4);
    for (let at = 0; at < 10; at++) await second.outcome(second.token({}, newKey()));
    assert.equal(second.fetches, 4, "strangers cannot make it fetch");
  });

  it("are fetched once for concurrent requests", async () => {
    const world = new World();
    const all = await Promise.all([1, 2, 3].map((jti) => world.outcome(world.token({ jti }))));
    assert.deepEqual(all, [alice, alice, alice]);
    assert.equal(world.fetches, 2);
  });

  it("stay in use while the issuer cannot be reached", async () => {
    const world = new World();
    assert.equal(await world.outcome(world.token()), alice);
    world.isDown = true;
    world.now += keysAgeMaxMs;
    assert.equal(await world.outcome(world.token()), alice);
    await new Promise(setImmediate);
    assert.equal(world.errors.length, 1);
    world.now += keysAgeMaxMs;
    assert.equal(await world.outcome(world.token()), alice);
  });

  it("that were withdrawn are rejected within seconds, also for cached tokens", async () => {
    const world = new World();
    const token = world.token();
    assert.equal(await world.outcome(token), alice);
    world.published = [newKey()];
    world.now += fetchIntervalMinMs;
    await world.outcome(token);
    await new Promise(setImmediate);
    await new Promise(setImmediate);
    assert.match(await world.outcome(token), /signature/);
  });

  it("that were withdrawn during an idle time authenticate no token afterwards", async () => {
    const world = new World();
    const [token, another] = [world.token(), world.token({ jti: "2" })];
    assert.equal(await world.outcome(token), alice);
    world.published = [newKey()];
    world.now += keysAgeMaxMs;
    assert.match(await world.outcome(token), /signature/);
    assert.match(await world.outcome(another), /signature/);
    world.published = [];
    world.now += keysAgeMaxMs;
    assert.match(await world.outcome(token), /not known yet|signature/);
  });

  it("that are old are not waited for again while the issuer cannot be reached", async () => {
    const world = new World();
    const token = world.token();
    assert.equal(await world.outcome(token), alice);
    world.isDown = true;
    world.now += keysAgeMaxMs;
    assert.equal(await world.outcome(token), alice);
    world.now += fetchIntervalMinMs;
    const { fetches } = world;
    assert.equal(world.atOnce(token), alice, "at once");
    assert.equal(world.fetches, fetches + 1, "and asked for beside");
  });

  it("that cannot be fetched reject every token, and are fetched again", async () => {
    const world = new World();
    world.isDown = true;
    assert.match(await world.outcome(world.token()), /not known yet/);
    world.isDown = false;
    assert.match(await world.outcome(world.token()), /not known yet/);
    world.now += fetchIntervalMinMs;
    assert.equal(await world.outcome(world.token()), alice);
  });

  it("are taken neither from a document of another issuer nor over http", async () => {
    for (const discovery of [
      { issuer: "https://other", jwks_uri: `${url}/keys` },
      { issuer: url, jwks_uri: "http://issuer.example/keys" },
      { issuer: url },
      {},
    ]) {
      const world = new World();
      world.discovery = discovery;
      assert.match(await world.outcome(world.token()), /not known yet/);
      assert.equal(world.errors.length, 1);
    }
  });
});

const file = (jwt: object, more: object = {}) => ({
  apiVersion: "apiserver.config.k8s.io/v1",
  kind: "AuthenticationConfiguration",
  jwt: [jwt],
  ...more,
});
const minimal = {
  issuer: { url, audiences: ["kcp"] },
  claimMappings: { username: { claim: "sub", prefix: "x:" } },
};
const parse = (value: unknown) => parseAuthenticationConfiguration(value, "file");
const worldOf = (jwt: object) => new World(parse(file(jwt)).issuers[0]);

describe("an authentication configuration", () => {
  it("maps claims by expressions", async () => {
    const world = worldOf({
      issuer: minimal.issuer,
      claimMappings: {
        username: { expression: "'u:' + claims.sub" },
        groups: { expression: "claims.roles.filter(r, r.startsWith('team-'))" },
        uid: { claim: "oid" },
        extra: [
          { key: "acme.com/tenant", valueExpression: "claims.tenant" },
          { key: "acme.com/none", valueExpression: "''" },
        ],
      },
    });
    const claims = { roles: ["team-a", "other"], oid: "7", tenant: ["t", "u"], jti: "j" };
    assert.deepEqual(await world.user(world.token(claims)), {
      username: "u:alice",
      uid: "7",
      groups: ["team-a", "system:authenticated"],
      extra: {
        "acme.com/tenant": ["t", "u"],
        "authentication.kubernetes.io/credential-id": ["JTI=j"],
      },
    });
    assert.match(await world.outcome(world.token({ oid: "7", tenant: "t" })), /no such key: roles/);
    assert.match(await world.outcome(world.token({ ...claims, tenant: 5 })), /neither text nor/);
  });

  it("validates claims and users by rules", async () => {
    const world = worldOf({
      ...minimal,
      claimValidationRules: [
        { claim: "hd", requiredValue: "acme" },
        { expression: "claims.level >= 2", message: "too low" },
      ],
      userValidationRules: [
        { expression: "!user.username.startsWith('x:system:')", message: "reserved" },
        { expression: "user.groups.all(g, !g.startsWith('system:'))" },
      ],
    });
    const good = { hd: "acme", level: 2 };
    assert.equal(await world.outcome(world.token(good)), "x:alice");
    assert.match(await world.outcome(world.token({ ...good, hd: "x" })), /claim hd/);
    assert.match(await world.outcome(world.token({ ...good, level: 1 })), /too low/);
    assert.match(await world.outcome(world.token({ ...good, level: "2" })), /no such overload/);
    assert.match(await world.outcome(world.token({ ...good, sub: "system:x" })), /reserved/);
  });

  const wrong: readonly (readonly [string, object, RegExp])[] = [
    ["another kind", { ...file(minimal), kind: "Config" }, /apiVersion/],
    ["another version", { ...file(minimal), apiVersion: "v1" }, /apiVersion/],
    ["a typing error", file({ ...minimal, userValidationRule: [] }), /unknown field/],
    ["http", file({ ...minimal, issuer: { url: "http://x", audiences: ["a"] } }), /must be https/],
    ["a query", file({ ...minimal, issuer: { url: `${url}?x`, audiences: ["a"] } }), /query/],
    ["no audience", file({ ...minimal, issuer: { url } }), /audiences: Required/],
    [
      "two audiences, no policy",
      file({ ...minimal, issuer: { url, audiences: ["a", "b"] } }),
      /MatchAny/,
    ],
    ["no user name", file({ ...minimal, claimMappings: {} }), /username: Required/],
    [
      "a claim without a prefix",
      file({ ...minimal, claimMappings: { username: { claim: "sub" } } }),
      /prefix: Required/,
    ],
    [
      "a claim and an expression",
      file({ ...minimal, claimMappings: { username: { claim: "sub", expression: "1" } } }),
      /can't both be set/,
    ],
    [
      "an address that may be unverified",
      file({ ...minimal, claimMappings: { username: { expression: "claims.email" } } }),
      /email_verified must be used/,
    ],
    [
      "a reserved extra",
      file({
        ...minimal,
        claimMappings: {
          ...minimal.claimMappings,
          extra: [{ key: "authentication.kcp.io/scopes", valueExpression: "''" }],
        },
      }),
      /reserved/,
    ],
    ["the same issuer twice", { ...file(minimal), jwt: [minimal, minimal] }, /Duplicate value/],
    [
      "paths for strangers who are not let in",
      file(minimal, { anonymous: { enabled: false, conditions: [{ path: "/x" }] } }),
      /enabled should be set/,
    ],
  ];
  for (const [title, value, message] of wrong) {
    it(`is rejected completely: ${title}`, () => {
      assert.throws(
        () => parse(value),
        (error: unknown) =>
          error instanceof AuthenticationConfigurationError && message.test(error.message),
      );
    });
  }

  it("is rejected when an expression does not compile, or is not boolean", () => {
    const rule = (expression: string) =>
      worldOf({ ...minimal, userValidationRules: [{ expression }] });
    assert.throws(() => rule("user."), /does not compile/);
    assert.throws(() => rule("'text'"), /must evaluate to bool/);
    assert.throws(() => rule("claims.sub == 'x'"), /undeclared reference/);
  });

  it("has a limit of issuers", () => {
    const many = (length: number) =>
      Array.from({ length }, (_, at) => ({
        ...minimal,
        issuer: { url: `${url}/${at}`, audiences: ["kcp"] },
      }));
    assert.equal(parse({ ...file({}), jwt: many(issuersMax) }).issuers.length, issuersMax);
    assert.throws(() => parse({ ...file({}), jwt: many(issuersMax + 1) }), /jwt: Too many/);
  });

  it("contains the paths of anonymous requests", async () => {
    const { anonymous } = parse(
      file(minimal, { anonymous: { enabled: true, conditions: [{ path: "/livez" }] } }),
    );
    assert.deepEqual(anonymous, { enabled: true, paths: ["/livez"] });
    const gate = new RequestAuthenticator({
      authenticators: [],
      anonymous: () => anonymous ?? { enabled: false, paths: undefined },
    });
    assert.equal((gate.authenticate({ path: "/livez" }) as UserInfo).username, "system:anonymous");
    assert.throws(() => gate.authenticate({ path: "/readyz" }), /anonymous requests are off/);
    assert.throws(() => gate.authenticate({}), /anonymous requests are off/);
  });
});

describe("reloadable authenticators", () => {
  it("are those of the last reload", () => {
    const one = (username: string) => ({ authenticateToken: () => ({ username, groups: [] }) });
    const tokens = new ReloadableTokenAuthenticator([one("a")]);
    assert.equal((tokens.authenticateToken("x") as UserInfo).username, "a");
    tokens.replace([one("b")]);
    assert.equal((tokens.authenticateToken("x") as UserInfo).username, "b");
    tokens.replace([]);
    assert.equal(tokens.authenticateToken("x"), undefined);
  });
});
