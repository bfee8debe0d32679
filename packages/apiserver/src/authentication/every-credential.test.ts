/**
 * Goal: every kind of credential with every possible defect is rejected. All kinds are enabled at
 * once, as in a server, so that a credential that one authenticator rejects cannot be accepted by
 * another.
 *
 * Method: a table of credentials and a table of defects. A defect is derived from a valid
 * credential that was accepted a moment before, so that nothing else can cause the rejection; where
 * a credential cannot have a defect (a static token has no issuer), its row omits it.
 */
import assert from "node:assert/strict";
import { createHmac, createPublicKey, X509Certificate } from "node:crypto";
import { describe, it } from "node:test";
import {
  type AccountObject,
  type Claims,
  clockSkewMs,
  hashToken,
  notBeforeSkewMs,
  parseJsonWebToken,
  parseTokenFile,
  type SigningKey,
  signJsonWebToken,
  tokenLengthMax,
} from "./index.ts";
import {
  adminToken,
  fileToken,
  foreign,
  foreignKey,
  own,
  ownKey,
  startMs,
  strangersEc,
  strangersRsa,
  TestAuthentication,
} from "./test-support/test-authentication.ts";
import { fixtures } from "./testdata/certificates.ts";

const second = 1000;
const yearMs = 365 * 86_400 * second;

const part = (value: unknown) => Buffer.from(JSON.stringify(value)).toString("base64url");
const flipped = (text: string, at: number) =>
  text.slice(0, at) + (text[at] === "A" ? "B" : "A") + text.slice(at + 1);

interface SignedPath {
  readonly user: string;
  readonly key: SigningKey;
  readonly stranger: SigningKey;
  readonly skewMs: number;
  /** The claims that the token must have. */
  readonly required: readonly string[];
  /** Whether the token has an expiration and audiences. */
  readonly isBounded: boolean;
  readonly make: (gate: TestAuthentication) => string;
}

const signedPaths: Readonly<Record<string, SignedPath>> = {
  "the token of a service account": {
    user: "system:serviceaccount:ns:sa",
    key: ownKey,
    stranger: strangersEc,
    skewMs: clockSkewMs,
    required: ["iss", "sub", "aud", "exp", "kubernetes.io"],
    isBounded: true,
    make: (gate) => gate.issue(),
  },
  "the token of a service account in a Secret": {
    user: "system:serviceaccount:ns:sa",
    key: ownKey,
    stranger: strangersEc,
    skewMs: clockSkewMs,
    required: [
      "iss",
      "sub",
      "kubernetes.io/serviceaccount/namespace",
      "kubernetes.io/serviceaccount/secret.name",
      "kubernetes.io/serviceaccount/service-account.name",
      "kubernetes.io/serviceaccount/service-account.uid",
      "kubernetes.io/serviceaccount/clusterName",
    ],
    isBounded: false,
    make: (gate) => gate.objects.get("secrets/s")?.token ?? "",
  },
  "the token of another issuer": {
    user: "alice",
    key: foreignKey,
    stranger: strangersRsa,
    skewMs: notBeforeSkewMs,
    required: ["iss", "sub", "aud", "exp"],
    isBounded: true,
    make: (gate) => {
      const exp = gate.now / second + 3600;
      return signJsonWebToken({ iss: foreign, aud: "kcp", sub: "alice", exp }, foreignKey);
    },
  },
};

/** A valid token in its parts. */
interface Good {
  readonly gate: TestAuthentication;
  readonly path: SignedPath;
  readonly token: string;
  readonly header: string;
  readonly body: string;
  readonly signature: string;
  readonly claims: Claims;
  /** The token with other claims, properly signed. */
  readonly with: (claims: object) => string;
  /** The token with another header and the original signature. */
  readonly under: (header: object) => string;
  /** The token, signed with a secret. */
  readonly byHmac: (alg: string, secret: string | Buffer) => string;
}

function goodOf(gate: TestAuthentication, path: SignedPath): Good {
  const token = path.make(gate);
  const [header = "", body = "", signature = ""] = token.split(".");
  const claims = parseJsonWebToken(token)?.claims ?? {};
  const kid = path.key.keyId;
  return {
    gate,
    path,
    token,
    header,
    body,
    signature,
    claims,
    with: (more) => signJsonWebToken({ ...claims, ...more }, path.key),
    under: (other) => `${part({ alg: path.key.algorithm, kid, ...other })}.${body}.${signature}`,
    byHmac: (alg, secret) => {
      const signed = `${part({ alg, kid })}.${body}`;
      const hash = `sha${alg.slice(2)}`;
      return `${signed}.${createHmac(hash, secret).update(signed).digest("base64url")}`;
    },
  };
}

const publicHalf = ({ path }: Good) => createPublicKey(path.key.privateKey);
const isBounded = ({ isBounded }: SignedPath) => isBounded;

type SignedDefect = readonly [
  title: string,
  make: (good: Good) => string,
  applies?: (path: SignedPath) => boolean,
];

const signedDefects: readonly SignedDefect[] = [
  ["expired", (good) => good.with({ exp: good.gate.now / second }), isBounded],
  ["expired since the epoch", (good) => good.with({ exp: 0 }), isBounded],
  ["with an end that is no number", (good) => good.with({ exp: "9999999999" }), isBounded],
  [
    "valid in the future only",
    ({ gate, path, ...good }) => good.with({ nbf: (gate.now + path.skewMs) / second + 1 }),
    isBounded,
  ],
  ["for another audience", (good) => good.with({ aud: "https://other" }), isBounded],
  ["for several other audiences", (good) => good.with({ aud: ["a", "b"] }), isBounded],
  ["for no audience", (good) => good.with({ aud: [] }), isBounded],
  ["for a part of the audience", (good) => good.with({ aud: [own.slice(0, -1), "kc"] }), isBounded],
  ["of another issuer", (good) => good.with({ iss: "https://else" })],
  ["of an issuer that is almost right", (good) => good.with({ iss: `${good.claims["iss"]}/` })],
  ["of a list of issuers", (good) => good.with({ iss: [good.claims["iss"]] })],
  ["of nobody", (good) => good.with({ iss: "" })],
  ["for a subject that is no text", (good) => good.with({ sub: { a: 1 } })],
  ["with the algorithm none and no signature", ({ body }) => `${part({ alg: "none" })}.${body}.`],
  ["with the algorithm none and its signature", (good) => good.under({ alg: "none" })],
  ["with the algorithm NONE", (good) => good.under({ alg: "NONE" })],
  ["with the algorithm nOnE", ({ body }) => `${part({ alg: "nOnE" })}.${body}.`],
  ["with no algorithm", (good) => good.under({ alg: undefined })],
  ["with an empty algorithm", (good) => good.under({ alg: "" })],
  ["with an algorithm that is no text", (good) => good.under({ alg: ["none"] })],
  ...["HS256", "HS384", "HS512"].flatMap((alg): SignedDefect[] => [
    [
      `signed by ${alg} with the public key in PEM`,
      (good) => good.byHmac(alg, String(publicHalf(good).export({ type: "spki", format: "pem" }))),
    ],
    [
      `signed by ${alg} with the public key in DER`,
      (good) => good.byHmac(alg, publicHalf(good).export({ type: "spki", format: "der" })),
    ],
    [
      `signed by ${alg} with the public key as JSON`,
      (good) => good.byHmac(alg, JSON.stringify(publicHalf(good).export({ format: "jwk" }))),
    ],
    [`signed by ${alg} with nothing`, (good) => good.byHmac(alg, "")],
  ]),
  ["under an algorithm of another curve", (good) => good.under({ alg: "ES384" })],
  ["under an algorithm of another hash", (good) => good.under({ alg: "RS512" })],
  ["under an algorithm of another padding", (good) => good.under({ alg: "PS256" })],
  ["under an unknown algorithm", (good) => good.under({ alg: "EdDSA" })],
  ["under an unknown key", (good) => good.under({ kid: "unknown" })],
  [
    "signed rightly under an unknown key",
    ({ claims, path }) => signJsonWebToken(claims, { ...path.key, keyId: "unknown" }),
  ],
  ["signed by a stranger", ({ claims, path }) => signJsonWebToken(claims, path.stranger)],
  [
    "signed by a stranger under our key's name",
    ({ claims, path }) => signJsonWebToken(claims, { ...path.stranger, keyId: path.key.keyId }),
  ],
  [
    "signed by a stranger who brings the key along",
    ({ claims, path }) => {
      const jwk = createPublicKey(path.stranger.privateKey).export({ format: "jwk" });
      const header = part({
        alg: path.stranger.algorithm,
        jwk,
        jku: "https://e",
        x5u: "https://e",
      });
      const [, body, signature] = signJsonWebToken(claims, path.stranger).split(".");
      return `${header}.${body}.${signature}`;
    },
  ],
  [
    "signed by the key of the other way in",
    ({ claims, path }) => signJsonWebToken(claims, path.key === ownKey ? foreignKey : ownKey),
  ],
  ["with an extension that must be understood", (good) => good.under({ crit: ["b64"] })],
  [
    "with another header",
    ({ body, signature, header }) => `${flipped(header, 8)}.${body}.${signature}`,
  ],
  ["with another type in the header", (good) => good.under({ typ: "at+jwt" })],
  [
    "with other claims",
    ({ header, body, signature }) => `${header}.${flipped(body, 12)}.${signature}`,
  ],
  [
    "with another subject under the old signature",
    ({ header, claims, signature }) => `${header}.${part({ ...claims, sub: "root" })}.${signature}`,
  ],
  [
    "with another signature",
    ({ header, body, signature }) => `${header}.${body}.${flipped(signature, 5)}`,
  ],
  ["with a signature of zeros", ({ header, body }) => `${header}.${body}.${"A".repeat(86)}`],
  [
    "with half a signature",
    ({ header, body, signature }) => `${header}.${body}.${signature.slice(0, 40)}`,
  ],
  ["with no signature", ({ header, body }) => `${header}.${body}.`],
  ["without its last part", ({ header, body }) => `${header}.${body}`],
  ["with a part too many", ({ token }) => `${token}.AAAA`],
  ["with padding", ({ token }) => `${token}=`],
  [
    "with its parts in another order",
    ({ header, body, signature }) => `${body}.${header}.${signature}`,
  ],
  ["encrypted, as it says", (good) => `${part({ alg: "dir", enc: "A128GCM" })}..a.b.c${good.body}`],
  ["longer than the limit", (good) => good.with({ pad: "x".repeat(tokenLengthMax) })],
];

for (const [name, path] of Object.entries(signedPaths)) {
  const missing = path.required.map(
    (claim): SignedDefect => [
      `without the claim ${claim}`,
      (good) => good.with({ [claim]: undefined }),
    ],
  );
  describe(`${name} is refused`, () => {
    for (const [title, make, applies = () => true] of [...signedDefects, ...missing]) {
      if (!applies(path)) continue;
      it(title, async () => {
        const gate = new TestAuthentication();
        const good = goodOf(gate, path);
        assert.equal(await gate.outcome(good.token), path.user, "it is good before");
        const bad = make(good);
        assert.notEqual(bad, good.token);
        assert.match(await gate.outcome(bad), /^refused: /);
        assert.match(await gate.reviewed(bad, [own]), /^refused: /);
        assert.equal(await gate.outcome(good.token), path.user, "it is good after");
      });
    }

    it("for a service that is not its audience", async () => {
      const gate = new TestAuthentication();
      const { token } = goodOf(gate, path);
      assert.equal(await gate.reviewed(token, [own]), path.user);
      assert.match(await gate.reviewed(token, ["https://vault"]), /^refused: /);
    });
  });
}

describe("the maximum length of a token", () => {
  it("permits a token of exactly this length, and no longer one", async () => {
    const gate = new TestAuthentication();
    const { isBounded: _, ...path } = signedPaths["the token of another issuer"] as SignedPath;
    const good = goodOf(gate, { ...path, isBounded: true });
    const padded = (length: number) => good.with({ pad: "x".repeat(length) });
    let length = tokenLengthMax / 2;
    while (padded(length + 1).length <= tokenLengthMax) length++;
    assert.equal(await gate.outcome(padded(length)), path.user);
    assert.match(await gate.outcome(padded(length + 1)), /^refused: bearer token of/);
  });
});

const staticPaths: Readonly<
  Record<string, { readonly user: string; readonly token: string; readonly groups: string }>
> = {
  "an administrator's token": { user: "kcp-admin", token: adminToken, groups: "system:kcp:admin" },
  "a token of the file": { user: "bob", token: fileToken, groups: "devs" },
};

for (const [name, { user, token, groups }] of Object.entries(staticPaths)) {
  const forged = { sub: user, iss: own, aud: [own], exp: 9_999_999_999, groups: [groups] };
  const defects: readonly (readonly [string, string])[] = [
    ["tampered at its beginning", flipped(token, 0)],
    ["tampered at its end", flipped(token, token.length - 1)],
    ["cut off", token.slice(0, -1)],
    ["with something behind it", `${token}x`],
    ["in other letters", token.toUpperCase()],
    ["as its hash", hashToken(token)],
    ["in base64", Buffer.from(token).toString("base64")],
    ["longer than the limit", token.repeat(Math.ceil(tokenLengthMax / token.length) + 1)],
    [
      "as a token without an algorithm that names its user",
      `${part({ alg: "none" })}.${part(forged)}.`,
    ],
    [
      "as a token of an issuer that nobody knows",
      signJsonWebToken({ ...forged, iss: "x" }, strangersEc),
    ],
    ["as a token of ours that is signed by a stranger", signJsonWebToken(forged, strangersEc)],
    [
      "as a token of a trusted issuer, signed by a stranger",
      signJsonWebToken({ ...forged, iss: foreign }, strangersRsa),
    ],
    ["of a member that every object has", "__proto__"],
  ];
  describe(`${name} is refused`, () => {
    for (const [title, bad] of defects) {
      it(title, async () => {
        const gate = new TestAuthentication();
        assert.equal(await gate.outcome(token), user);
        assert.match(await gate.outcome(bad), /^refused: /);
        assert.match(await gate.reviewed(bad, [own]), /^refused: /);
      });
    }

    it("for a service that is not its audience", async () => {
      const gate = new TestAuthentication();
      assert.equal(await gate.reviewed(token, [own]), user);
      assert.match(await gate.reviewed(token, ["https://vault"]), /^refused: /);
    });
  });
}

describe("a certificate is rejected", () => {
  /** The certificate with one bit of `text` flipped in the signed part. */
  const tampered = (pem: string, text: string) => {
    const bytes = Buffer.from(new X509Certificate(pem).raw);
    const at = bytes.indexOf(text);
    assert.ok(at > 0);
    bytes[at] = (bytes[at] ?? 0) ^ 1;
    return new X509Certificate(bytes);
  };
  const defects: readonly (readonly [string, X509Certificate, atMs?: number])[] = [
    ["of another authority", new X509Certificate(fixtures.aliceOfAuthorityB)],
    ["of another key under our authority's name", new X509Certificate(fixtures.forged)],
    ["of our key under another name", new X509Certificate(fixtures.ofAnotherNameButSameKey)],
    ["of its own", new X509Certificate(fixtures.selfSigned)],
    ["expired", new X509Certificate(fixtures.alice), startMs + yearMs],
    ["not valid yet", new X509Certificate(fixtures.alice), startMs - 30 * 86_400 * second],
    ["for serving only", new X509Certificate(fixtures.servingOnly)],
    ["with another user", tampered(fixtures.alice, "alice")],
    ["with another group", tampered(fixtures.alice, "developers")],
  ];
  for (const [title, certificate, atMs = startMs] of defects) {
    it(title, async () => {
      const gate = new TestAuthentication();
      assert.equal(await gate.ofCertificate(new X509Certificate(fixtures.alice)), "alice");
      gate.now = atMs;
      assert.match(await gate.ofCertificate(certificate), /^refused: /);
    });
  }
});

describe("an accepted credential is rejected", () => {
  it("when its account is deleted, or replaced by another of the same name", async () => {
    for (const kind of [
      "the token of a service account",
      "the token of a service account in a Secret",
    ]) {
      const path = signedPaths[kind] as SignedPath;
      const gate = new TestAuthentication();
      const token = path.make(gate);
      assert.equal(await gate.outcome(token), path.user);
      const there = gate.objects.get("serviceaccounts/sa") as AccountObject;
      gate.objects.set("serviceaccounts/sa", { ...there, uid: "u2" });
      assert.match(await gate.outcome(token), /^refused: /);
      gate.objects.delete("serviceaccounts/sa");
      assert.match(await gate.outcome(token), /^refused: /);
    }
  });

  it("when its Secret is deleted, or contains another token", async () => {
    const gate = new TestAuthentication();
    const token = gate.issueForSecret();
    const there = gate.objects.get("secrets/s") as AccountObject;
    gate.objects.set("secrets/s", { ...there, token });
    assert.equal(await gate.outcome(token), "system:serviceaccount:ns:sa");
    gate.objects.set("secrets/s", { ...there, token: "another" });
    assert.match(await gate.outcome(token), /^refused: /);
    gate.objects.delete("secrets/s");
    assert.match(await gate.outcome(token), /^refused: /);
  });

  it("when its line in the file is removed", async () => {
    const gate = new TestAuthentication();
    assert.equal(await gate.outcome(fileToken), "bob");
    gate.fileTokens.replace(parseTokenFile("another,eve,8", "f"));
    assert.match(await gate.outcome(fileToken), /^refused: /);
    assert.equal(await gate.outcome("another"), "eve");
  });

  it("when its authority is removed", async () => {
    const gate = new TestAuthentication();
    const certificate = new X509Certificate(fixtures.alice);
    assert.equal(await gate.ofCertificate(certificate), "alice");
    gate.authorities.reload(fixtures.authorityB);
    assert.match(await gate.ofCertificate(certificate), /^refused: /);
  });

  it("when it has expired", async () => {
    for (const path of Object.values(signedPaths).filter(isBounded)) {
      const gate = new TestAuthentication();
      const token = path.make(gate);
      gate.now += 3600 * second - 1;
      assert.equal(await gate.outcome(token), path.user);
      gate.now += 1;
      assert.match(await gate.outcome(token), /^refused: /);
    }
  });
});
