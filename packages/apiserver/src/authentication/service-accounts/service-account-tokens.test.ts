import assert from "node:assert/strict";
import {
  constants,
  createHmac,
  createPublicKey,
  generateKeyPairSync,
  type KeyObject,
  sign,
} from "node:crypto";
import { describe, it } from "node:test";
import { rootCluster } from "@kcp-ts/machinery/names";
import fc from "fast-check";
import {
  type AccountObject,
  type AccountReference,
  AuthenticationConfigurationError,
  accountCacheMs,
  BearerTokenAuthenticator,
  clockSkewMs,
  deletionGraceMs,
  isAuthenticationError,
  parseKeySet,
  parseSigningKey,
  parseVerificationKeys,
  RequestAuthenticator,
  ServiceAccountAuthenticator,
  ServiceAccountTokenIssuer,
  signatureAlgorithms,
  signingKey,
  signJsonWebToken,
  toJsonWebKey,
  type VerificationKey,
  verificationKeyOf,
  verificationKeysMax,
} from "../index.ts";

const issuer = "https://kcp.default.svc";
const startMs = Date.UTC(2026, 0, 1);
const rsa = generateKeyPairSync("rsa", { modulusLength: 2048 }).privateKey;
const ec = generateKeyPairSync("ec", { namedCurve: "P-256" }).privateKey;
const account: AccountReference = { cluster: rootCluster, namespace: "ns", name: "sa", uid: "u1" };

/** An authenticator over objects that the test changes. */
class World {
  now = startMs;
  readonly objects = new Map<string, AccountObject>();
  lookups = 0;
  isSlow = false;
  readonly key = signingKey(ec, "test");
  keys: readonly VerificationKey[] = [verificationKeyOf(this.key)];
  readonly clock = { now: () => this.now };
  readonly issuer = new ServiceAccountTokenIssuer({
    issuer,
    audiences: [issuer],
    key: () => this.key,
    clock: this.clock,
  });
  readonly authenticator = new ServiceAccountAuthenticator({
    issuers: [issuer, "https://old"],
    audiences: [issuer, "second"],
    keys: () => this.keys,
    objects: {
      getter:
        (resource, { cluster, namespace, name }) =>
        () => {
          this.lookups++;
          const found = this.objects.get([resource, cluster, namespace, name].join("/"));
          return this.isSlow ? Promise.resolve(found) : found;
        },
    },
    clock: this.clock,
    cacheEntriesMax: 3,
  });
  readonly gate = new RequestAuthenticator({
    authenticators: [new BearerTokenAuthenticator([this.authenticator], [issuer])],
    anonymous: true,
  });

  constructor() {
    this.put("serviceaccounts/root/ns/sa", "u1");
  }

  put(key: string, uid: string, more: Partial<AccountObject> = {}): void {
    this.objects.set(key, { uid, deletedAt: undefined, token: undefined, ...more });
  }

  issue(options: { audiences?: string[]; seconds?: number; secret?: string } = {}): string {
    const { audiences = [issuer], seconds = 3600, secret } = options;
    return this.issuer.issue({
      account,
      audiences,
      expirationSeconds: seconds,
      secret: secret === undefined ? undefined : { name: secret, uid: "s1" },
    }).token;
  }

  /** The user's name, or the reason of the rejection. */
  async outcome(token: string): Promise<string> {
    try {
      return (await this.gate.authenticate({ authorization: `Bearer ${token}` })).username;
    } catch (error) {
      if (isAuthenticationError(error)) return error.message;
      throw error;
    }
  }
}

const user = "system:serviceaccount:ns:sa";

function part(value: object): string {
  return Buffer.from(JSON.stringify(value)).toString("base64url");
}

function claimsOf(token: string): Record<string, unknown> {
  return JSON.parse(Buffer.from(token.split(".")[1] ?? "", "base64url").toString("utf8"));
}

describe("a token of a service account", () => {
  it("has a user with its account, its cluster and the id of the credential", async () => {
    const world = new World();
    const token = world.issue();
    const { jti } = claimsOf(token);
    assert.deepEqual(await world.gate.authenticate({ authorization: `Bearer ${token}` }), {
      username: user,
      uid: "u1",
      groups: ["system:serviceaccounts", "system:serviceaccounts:ns", "system:authenticated"],
      extra: {
        "authentication.kubernetes.io/credential-id": [`JTI=${String(jti)}`],
        "authentication.kcp.io/cluster-name": ["root"],
        "authentication.kcp.io/scopes": ["cluster:root"],
      },
    });
  });

  it("has the claims of Kubernetes, and the cluster", () => {
    const world = new World();
    const { jti: _, ...claims } = claimsOf(world.issue({ secret: "s" }));
    assert.deepEqual(claims, {
      aud: [issuer],
      exp: startMs / 1000 + 3600,
      iat: startMs / 1000,
      nbf: startMs / 1000,
      iss: issuer,
      sub: user,
      "kubernetes.io": {
        clusterName: "root",
        namespace: "ns",
        serviceaccount: { name: "sa", uid: "u1" },
        secret: { name: "s", uid: "s1" },
      },
    });
  });

  it("expires at its expiration, to the millisecond", async () => {
    const world = new World();
    const token = world.issue({ seconds: 600 });
    world.now = startMs + 600_000 - 1;
    assert.equal(await world.outcome(token), user);
    world.now++;
    assert.match(await world.outcome(token), /expired/);
  });

  it("is valid from its start, with a tolerance of a minute", async () => {
    const world = new World();
    const token = world.issue();
    world.now = startMs - clockSkewMs;
    assert.equal(await world.outcome(token), user);
    world.now--;
    assert.match(await world.outcome(token), /not valid yet/);
  });

  it("is valid for its audiences", async () => {
    const world = new World();
    const forVault = world.issue({ audiences: ["vault"] });
    assert.match(await world.outcome(forVault), /^token audiences \["vault"\] is invalid/);
    assert.equal(await world.outcome(world.issue({ audiences: ["vault", "second"] })), user);
    const review = (token: string, audiences: string[]) => world.gate.reviewToken(token, audiences);
    const token = world.issue({ audiences: ["vault", "x"] });
    assert.deepEqual((await review(token, ["y", "vault"])).audiences, ["vault"]);
    await assert.rejects(review(token, ["y", "z"]), {
      code: "other-audience",
      message: 'token audiences ["vault" "x"] is invalid for the target audiences ["y" "z"]',
    });
    await assert.rejects(review(token, []), { code: "other-audience" });
  });

  it("is invalid without its account, or with another of the same name", async () => {
    for (const isSlow of [false, true]) {
      const world = new World();
      world.isSlow = isSlow;
      const token = world.issue();
      assert.equal(await world.outcome(token), user);
      world.now += accountCacheMs;
      world.objects.delete("serviceaccounts/root/ns/sa");
      assert.match(await world.outcome(token), /does not exist/);
      world.put("serviceaccounts/root/ns/sa", "u2");
      assert.match(await world.outcome(token), /does not exist/);
      world.put("serviceaccounts/other/ns/sa", "u1");
      assert.match(await world.outcome(token), /does not exist/);
    }
  });

  it("is invalid without the secret that it is bound to", async () => {
    const world = new World();
    const token = world.issue({ secret: "s" });
    assert.match(await world.outcome(token), /does not exist/);
    world.put("secrets/root/ns/s", "s1");
    assert.equal(await world.outcome(token), user);
    world.put("secrets/root/ns/s", "s2");
    assert.match(await world.outcome(token), /does not exist/);
  });

  it("is valid for a minute after the deletionTimestamp of its account", async () => {
    const world = new World();
    const token = world.issue();
    world.put("serviceaccounts/root/ns/sa", "u1", { deletedAt: startMs });
    world.now = startMs + deletionGraceMs;
    assert.equal(await world.outcome(token), user);
    world.now++;
    assert.match(await world.outcome(token), /being deleted/);
  });

  it("is rejected as soon as its key is removed", async () => {
    const world = new World();
    const token = world.issue();
    assert.equal(await world.outcome(token), user);
    world.keys = [verificationKeyOf(signingKey(rsa, "test"))];
    assert.match(await world.outcome(token), /signature/);
    world.keys = [...world.keys, verificationKeyOf(world.key)];
    assert.equal(await world.outcome(token), user);
  });

  it("of an earlier issuer's name is still valid, and of another issuer is unknown", async () => {
    const world = new World();
    const claims = claimsOf(world.issue());
    const of = (iss: unknown) => signJsonWebToken({ ...claims, iss }, world.key);
    assert.equal(await world.outcome(of("https://old")), user);
    for (const iss of ["https://else", "", 5, null, undefined, `${issuer}/`]) {
      assert.equal(await world.outcome(of(iss)), "invalid bearer token");
    }
  });

  it("reads the store again only after a moment, when that needs a round trip", async () => {
    const world = new World();
    world.isSlow = true;
    const token = world.issue();
    for (let at = 0; at < 5; at++) assert.equal(await world.outcome(token), user);
    assert.equal(world.lookups, 1);
    world.now += accountCacheMs;
    await world.outcome(token);
    assert.equal(world.lookups, 2);
  });

  it("is cached in a limited number, and valid again after its eviction", async () => {
    const world = new World();
    const tokens = Array.from({ length: 10 }, () => world.issue());
    for (const round of [1, 2]) {
      for (const token of tokens) assert.equal(await world.outcome(token), user, String(round));
    }
  });
});

describe("a token of a secret", () => {
  it("is valid as long as its secret contains it, for the audiences of this server", async () => {
    const world = new World();
    const token = world.issuer.issueForSecret(account, "s");
    assert.match(await world.outcome(token), /does not exist/);
    world.put("secrets/root/ns/s", "s1", { token: "another" });
    assert.match(await world.outcome(token), /another token/);
    world.put("secrets/root/ns/s", "s1", { token });
    world.now += 10 * 365 * 86_400_000;
    assert.equal(await world.outcome(token), user);
    assert.deepEqual((await world.gate.reviewToken(token)).audiences, [issuer]);
    await assert.rejects(async () => world.gate.reviewToken(token, ["vault"]), {
      code: "other-audience",
    });
    world.objects.delete("serviceaccounts/root/ns/sa");
    assert.match(await world.outcome(token), /does not exist/);
  });
});

describe("forged tokens", () => {
  const world = new World();
  const good = world.issue();
  const [header = "", body = "", signature = ""] = good.split(".");
  const kid = world.key.keyId;
  const publicPem = createPublicKey(ec).export({ type: "spki", format: "pem" }).toString();
  const hmac = (alg: string, secret: string | Buffer) => {
    const signed = `${part({ alg, kid })}.${body}`;
    return `${signed}.${createHmac("sha256", secret).update(signed).digest("base64url")}`;
  };
  const stranger = signingKey(generateKeyPairSync("ec", { namedCurve: "P-256" }).privateKey, "x");
  const claims = claimsOf(good);
  const longer = { ...claims, exp: Number(claims["exp"]) + 1 };
  const own = claims["kubernetes.io"] as object;
  const forged: readonly (readonly [string, string])[] = [
    ["no algorithm, no signature", `${part({ alg: "none" })}.${body}.`],
    ["no algorithm, a signature", `${part({ alg: "none", kid })}.${body}.${signature}`],
    ["None in other letters", `${part({ alg: "nOnE", kid })}.${body}.${signature}`],
    ["no algorithm named", `${part({ kid })}.${body}.${signature}`],
    ["the public key as a shared secret", hmac("HS256", publicPem)],
    [
      "its DER as a shared secret",
      hmac("HS256", createPublicKey(ec).export({ type: "spki", format: "der" })),
    ],
    ["an algorithm of another curve", `${part({ alg: "ES384", kid })}.${body}.${signature}`],
    ["an algorithm of another kind of key", `${part({ alg: "RS256", kid })}.${body}.${signature}`],
    ["another claim", `${header}.${part(longer)}.${signature}`],
    ["a stranger's key", signJsonWebToken(claims, stranger)],
    [
      "a stranger's key under our key's name",
      signJsonWebToken(claims, { ...stranger, keyId: kid }),
    ],
    ["an unknown key's name", signJsonWebToken(claims, { ...world.key, keyId: "other" })],
    [
      "an extension that must be understood",
      `${part({ alg: "ES256", kid, crit: ["b64"] })}.${body}.${signature}`,
    ],
    ["a signature of zeros", `${header}.${body}.${Buffer.alloc(64).toString("base64url")}`],
    ["half a signature", `${header}.${body}.${signature.slice(0, 43)}`],
    ["no signature", `${header}.${body}.`],
    ["two parts", `${header}.${body}`],
    ["four parts", `${good}.${signature}`],
    ["padding", `${good}=`],
    ["a line end", `${header}.${body}\n.${signature}`],
    [
      "a subject that is not the account",
      signJsonWebToken({ ...claims, sub: "system:serviceaccount:ns:admin" }, world.key),
    ],
    ["no expiry", signJsonWebToken({ ...claims, exp: undefined }, world.key)],
    [
      "no cluster",
      signJsonWebToken(
        { ...claims, "kubernetes.io": { ...own, clusterName: undefined } },
        world.key,
      ),
    ],
    [
      "a cluster that can be none",
      signJsonWebToken({ ...claims, "kubernetes.io": { ...own, clusterName: "a/b" } }, world.key),
    ],
    [
      "a binding that cannot be checked",
      signJsonWebToken(
        { ...claims, "kubernetes.io": { ...own, pod: { name: "p", uid: "u" } } },
        world.key,
      ),
    ],
  ];
  for (const [title, token] of forged) {
    it(`are rejected: ${title}`, async () => {
      assert.match(await world.outcome(token), /invalid bearer token|refused/);
    });
  }

  it("are rejected whichever byte of a valid token was changed", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.nat(good.length - 1),
        fc.constantFrom(..."ABab019_-."),
        async (at, letter) => {
          fc.pre(good[at] !== letter);
          const changed = good.slice(0, at) + letter + good.slice(at + 1);
          assert.notEqual(await world.outcome(changed), user);
        },
      ),
      { numRuns: 300 },
    );
  });
});

describe("keys of tokens", () => {
  const curves = { ES256: "P-256", ES384: "P-384", ES512: "P-521" } as const;
  const hashes = { "256": "sha256", "384": "sha384", "512": "sha512" } as const;

  for (const algorithm of signatureAlgorithms) {
    it(`verify ${algorithm}, from a key set`, async () => {
      const curve = curves[algorithm as keyof typeof curves];
      const key: KeyObject =
        curve === undefined ? rsa : generateKeyPairSync("ec", { namedCurve: curve }).privateKey;
      const published = { keyId: "k", algorithm, publicKey: createPublicKey(key) };
      const world = new World();
      world.keys = parseKeySet(JSON.parse(JSON.stringify({ keys: [toJsonWebKey(published)] })));
      const signed = `${part({ alg: algorithm, kid: "k" })}.${part(claimsOf(world.issue()))}`;
      const options = algorithm.startsWith("PS")
        ? {
            key,
            padding: constants.RSA_PKCS1_PSS_PADDING,
            saltLength: constants.RSA_PSS_SALTLEN_DIGEST,
          }
        : { key, dsaEncoding: "ieee-p1363" as const };
      const hash = hashes[algorithm.slice(2) as keyof typeof hashes];
      const signature = sign(hash, Buffer.from(signed), options);
      assert.equal(await world.outcome(`${signed}.${signature.toString("base64url")}`), user);
    });
  }

  it("in a set that are unsuitable are omitted", () => {
    const jwk = createPublicKey(ec).export({ format: "jwk" });
    const short = generateKeyPairSync("rsa", { modulusLength: 1024 }).publicKey;
    const useless = [
      null,
      5,
      {},
      { kty: "oct", k: "c2VjcmV0" },
      { ...jwk, use: "enc" },
      { ...jwk, alg: "RS256" },
      { ...jwk, alg: "HS256" },
      { ...jwk, x: "AAAA" },
      { ...jwk, crv: "P-999" },
      short.export({ format: "jwk" }),
    ];
    assert.deepEqual(parseKeySet({ keys: useless }), []);
    assert.equal(parseKeySet({ keys: [...useless, jwk] }).length, 1);
    const many = (length: number) => Array.from({ length }, () => jwk);
    assert.equal(parseKeySet({ keys: many(verificationKeysMax) }).length, verificationKeysMax);
    assert.equal(parseKeySet({ keys: many(verificationKeysMax + 1) }).length, verificationKeysMax);
    assert.throws(() => parseKeySet({}), TypeError);
    assert.throws(() => parseKeySet([]), TypeError);
  });

  it("are read from files with several keys, public and private", () => {
    const files = [
      rsa.export({ type: "pkcs1", format: "pem" }),
      ec.export({ type: "sec1", format: "pem" }),
      createPublicKey(ec).export({ type: "spki", format: "pem" }),
    ].join("\n");
    assert.deepEqual(
      parseVerificationKeys(files, "file").map(({ algorithm }) => algorithm),
      ["RS256", "ES256", "ES256"],
    );
    for (const text of [
      "",
      "hello",
      "-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----",
    ]) {
      assert.throws(() => parseVerificationKeys(text, "file"), AuthenticationConfigurationError);
      assert.throws(() => parseSigningKey(text, "file"), AuthenticationConfigurationError);
    }
    const ed = generateKeyPairSync("ed25519").privateKey.export({ type: "pkcs8", format: "pem" });
    assert.throws(() => parseSigningKey(ed.toString(), "file"), /RSA of 2048 to 8192 bits/);
  });
});
