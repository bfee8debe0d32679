import assert from "node:assert/strict";
import { X509Certificate } from "node:crypto";
import { describe, it } from "node:test";
import type { UserInfo } from "../request/index.ts";
import {
  AuthenticationConfigurationError,
  ClientCertificateAuthenticator,
  isAuthenticationError,
  ReloadableClientCa,
} from "./index.ts";
import { fixtures } from "./testdata/certificates.ts";

const november20 = Date.parse("2026-11-20T00:00:00Z");
const dayMs = 24 * 60 * 60 * 1000;

/** An authenticator that trusts authority A, and a clock that the test sets. */
function setup(options: { readonly ca?: string; readonly cacheEntriesMax?: number } = {}) {
  const clock = { time: november20, now: () => clock.time };
  const ca = new ReloadableClientCa(options.ca ?? fixtures.authorityA, "ca.crt");
  const authenticator = new ClientCertificateAuthenticator({
    authorities: [ca],
    clock,
    ...(options.cacheEntriesMax === undefined ? {} : { cacheEntriesMax: options.cacheEntriesMax }),
  });
  const authenticate = (pem: string): UserInfo | undefined =>
    authenticator.authenticate({ clientCertificate: new X509Certificate(pem) });
  return { authenticate, ca, clock };
}

function refused(reason: RegExp) {
  return (error: unknown) =>
    isAuthenticationError(error, "invalid-certificate") && reason.test(error.message);
}

/** The certificate with one byte of `text` changed in the signed part. */
function tampered(pem: string, text: string): string {
  const bytes = Buffer.from(new X509Certificate(pem).raw);
  const at = bytes.indexOf(text);
  assert.ok(at > 0);
  bytes[at] = (bytes[at] ?? 0) ^ 1;
  return `-----BEGIN CERTIFICATE-----\n${bytes.toString("base64")}\n-----END CERTIFICATE-----\n`;
}

describe("client certificates", () => {
  it("have the common name as user and the organizations as groups", () => {
    const user = setup().authenticate(fixtures.alice);
    const fingerprint = new X509Certificate(fixtures.alice).fingerprint256;
    assert.deepEqual(user, {
      username: "alice",
      groups: ["developers", "a,b", "system:authenticated"],
      extra: {
        "authentication.kubernetes.io/credential-id": [
          `X509SHA256=${fingerprint.replaceAll(":", "").toLowerCase()}`,
        ],
      },
    });
  });

  const accepted: readonly (readonly [string, keyof typeof fixtures, Partial<UserInfo>])[] = [
    ["a uid stands under its own OID", "withUid", { username: "bob", uid: "uid-7" }],
    ["no extended usage means any", "withoutUsage", { username: "bob" }],
    ["the usage says any", "withAnyUsage", { username: "bob" }],
    ["client is one of several usages", "servingAndClient", { username: "alice" }],
    ["the last of two common names counts", "withTwoCommonNames", { username: "last" }],
    [
      "a line end in an organization makes no second one",
      "injected",
      { groups: ["x\nO=system:masters", "__proto__", "system:authenticated"] },
    ],
  ];
  for (const [title, name, expected] of accepted) {
    it(`are accepted: ${title}`, () => {
      const user = setup().authenticate(fixtures[name]);
      for (const key of Object.keys(expected) as (keyof UserInfo)[]) {
        assert.deepEqual(user?.[key], expected[key]);
      }
    });
  }

  const rejected: readonly (readonly [string, string, RegExp])[] = [
    ["issued by another authority", fixtures.aliceOfAuthorityB, /not issued by a known/],
    ["naming our authority but signed by another key", fixtures.forged, /not issued by a known/],
    [
      "signed by our key under another authority's name",
      fixtures.ofAnotherNameButSameKey,
      /not issued by a known/,
    ],
    ["signed by itself", fixtures.selfSigned, /not issued by a known/],
    ["with a changed subject", tampered(fixtures.alice, "alice"), /not issued by a known/],
    ["with a changed organization", tampered(fixtures.alice, "developers"), /not issued by a/],
    ["meant for serving only", fixtures.servingOnly, /not meant for client/],
    ["with two uids", fixtures.withTwoUids, /more than one uid/],
  ];
  for (const [title, pem, reason] of rejected) {
    it(`are rejected: ${title}`, () => {
      assert.throws(() => setup().authenticate(pem), refused(reason));
    });
  }

  it("without a common name have no user, and are no error", () => {
    assert.equal(setup().authenticate(fixtures.withoutCommonName), undefined);
    assert.equal(setup().authenticate(fixtures.withoutSubject), undefined);
  });

  it("are not checked when there is none, or no authority", () => {
    const { ca, clock } = setup();
    const some = new ClientCertificateAuthenticator({ authorities: [ca], clock });
    assert.equal(some.authenticate({}), undefined);
    const none = new ClientCertificateAuthenticator({ authorities: [], clock });
    const clientCertificate = new X509Certificate(fixtures.selfSigned);
    assert.equal(none.authenticate({ clientCertificate }), undefined);
  });

  it("are accepted from the first to the last second of their validity, also when they are cached", () => {
    const { authenticate, clock } = setup();
    const { validFrom, validTo } = new X509Certificate(fixtures.alice);
    for (const time of [Date.parse(validFrom), november20, Date.parse(validTo)]) {
      clock.time = time;
      assert.equal(authenticate(fixtures.alice)?.username, "alice");
    }
    for (const time of [Date.parse(validFrom) - 1, Date.parse(validTo) + 1]) {
      clock.time = time;
      assert.throws(() => authenticate(fixtures.alice), refused(/not valid at this time/));
    }
  });

  it("expire with their authority", () => {
    const { authenticate, clock } = setup({ ca: fixtures.authorityAEndingEarly });
    assert.equal(authenticate(fixtures.alice)?.username, "alice");
    clock.time += 10 * dayMs;
    assert.throws(() => authenticate(fixtures.alice), refused(/authority whose own certificate/));
  });

  it("stay valid after the authority's old certificate expires if the renewed one is in the pool", () => {
    const { authenticate, clock } = setup({
      ca: fixtures.authorityAEndingEarly + fixtures.authorityA,
    });
    assert.equal(authenticate(fixtures.alice)?.username, "alice");
    clock.time += 10 * dayMs;
    assert.equal(authenticate(fixtures.alice)?.username, "alice");
  });

  it("are verified against each pool in turn", () => {
    const authenticator = new ClientCertificateAuthenticator({
      authorities: [
        new ReloadableClientCa(fixtures.authorityB, "b.crt"),
        new ReloadableClientCa(fixtures.authorityA, "a.crt"),
      ],
      clock: { now: () => november20 },
    });
    for (const pem of [fixtures.alice, fixtures.aliceOfAuthorityB]) {
      const clientCertificate = new X509Certificate(pem);
      assert.equal(authenticator.authenticate({ clientCertificate })?.username, "alice");
    }
  });

  it("return the identical user object while they are cached", () => {
    const { authenticate } = setup({ cacheEntriesMax: 2 });
    const first = authenticate(fixtures.alice);
    authenticate(fixtures.withUid);
    assert.equal(authenticate(fixtures.alice), first);
    authenticate(fixtures.withoutUsage);
    assert.equal(authenticate(fixtures.alice), first, "the one used last stays");
    authenticate(fixtures.withUid);
    authenticate(fixtures.withoutUsage);
    assert.notEqual(authenticate(fixtures.alice), first, "limit + 1 is verified again");
  });
});

describe("ReloadableClientCa", () => {
  it("changes the trusted authorities from the next request on", () => {
    const { authenticate, ca } = setup();
    assert.equal(authenticate(fixtures.alice)?.username, "alice");
    ca.reload(fixtures.authorityB);
    assert.throws(() => authenticate(fixtures.alice), refused(/not issued by a known/));
    assert.equal(authenticate(fixtures.aliceOfAuthorityB)?.username, "alice");
  });

  it("takes an authority of version 1, whose certificate cannot say that it is one", () => {
    const { authenticate } = setup({ ca: fixtures.authorityOfVersion1 });
    const user = authenticate(fixtures.doraOfVersion1);
    assert.equal(user?.username, "dora");
    assert.deepEqual(user.groups, ["team", "system:authenticated"]);
  });

  const damaged = fixtures.authorityA.replace(/\n.{64}\n/, "\n");
  for (const [title, pem] of [
    ["nothing", ""],
    ["prose", "no certificate here"],
    ["a private key", "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n"],
    ["a damaged certificate", damaged],
    ["a certificate that is no authority", fixtures.alice],
    ["a good and a cut-off one", fixtures.authorityA + fixtures.authorityB.slice(0, 200)],
  ] as const) {
    it(`rejects ${title} by the file's name and keeps the old authorities`, () => {
      const { authenticate, ca } = setup();
      assert.throws(
        () => ca.reload(pem),
        (error: unknown) =>
          error instanceof AuthenticationConfigurationError && error.message.includes("ca.crt"),
      );
      assert.equal(authenticate(fixtures.alice)?.username, "alice");
      assert.throws(() => new ReloadableClientCa(pem, "ca.crt"), AuthenticationConfigurationError);
    });
  }
});
