/**
 * Goal: faults of issuers, over real TLS, reject no verified user, admit no unverified one, and
 * affect no other issuer.
 */
import assert from "node:assert/strict";
import { generateKeyPairSync, type KeyObject, sign } from "node:crypto";
import { once } from "node:events";
import type { IncomingMessage, ServerResponse } from "node:http";
import { createServer, type Server } from "node:https";
import type { AddressInfo } from "node:net";
import { after, afterEach, before, describe, it } from "node:test";
import {
  BearerTokenAuthenticator,
  IssuerAuthenticator,
  isAuthenticationError,
  issuerOfFlags,
  RequestAuthenticator,
} from "@kcp-ts/apiserver";
import { documentFetcher, fetchTimeoutMs } from "@kcp-ts/apiserver/webhooks";
import { systemClock } from "@kcp-ts/machinery/base";
import { createCertificateAuthority, exportKey, generateKey, issueCertificate } from "@kcp-ts/pki";
import { eventually, FakeClock } from "@kcp-ts/testkit";

/** The interval between two fetches from an issuer. */
const fetchIntervalMinMs = 10_000;
/** Older keys are fetched again before they are trusted. */
const keysAgeMaxMs = 30_000;

const authority = createCertificateAuthority({ commonName: "ca", now: systemClock.now() });

interface IssuerKey {
  readonly id: string;
  readonly privateKey: KeyObject;
  readonly publicKey: KeyObject;
}

let keyCount = 0;
const newKey = (): IssuerKey => ({
  id: `key-${++keyCount}`,
  ...generateKeyPairSync("ec", { namedCurve: "P-256" }),
});

/** Responds to a request for documents in its own way; undefined responds correctly. */
type Mood = (request: IncomingMessage, response: ServerResponse) => void;

const down: Mood = (request) => request.socket.destroy();
const silent: Mood = () => {};
const says =
  (status: number, text: string, headers: Record<string, string> = {}): Mood =>
  (_, response) => {
    response.writeHead(status, headers).end(text);
  };
const endless: Mood = (_, response) => {
  response.on("error", () => {});
  const more = () => {
    if (!response.destroyed) response.write(" ".repeat(1 << 16), more);
  };
  more();
};
const halfAnswer: Mood = (_, response) => {
  response.writeHead(200, { "content-length": "1000" });
  response.write("{", () => response.destroy());
};

class TestIssuer {
  readonly server: Server;
  asked = 0;
  mood: Mood | undefined;
  keys: IssuerKey[] = [newKey()];

  private constructor(server: Server) {
    this.server = server;
    server.on("request", (request, response) => {
      this.asked++;
      if (this.mood !== undefined) this.mood(request, response);
      else response.end(JSON.stringify(this.#document(request.url)));
    });
  }

  static async start(): Promise<TestIssuer> {
    const key = generateKey();
    const { certificatePem } = issueCertificate({
      authority,
      subject: { commonName: "issuer" },
      purposes: ["serverAuth"],
      hostnames: ["127.0.0.1"],
      key,
      now: systemClock.now(),
    });
    const server = createServer({ cert: certificatePem, key: exportKey(key) });
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    return new TestIssuer(server);
  }

  get url(): string {
    return `https://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  #document(path: string | undefined): object {
    if (path !== "/keys") return { issuer: this.url, jwks_uri: `${this.url}/keys` };
    const keys = this.keys.map(({ id, publicKey }) => ({
      ...publicKey.export({ format: "jwk" }),
      kid: id,
      use: "sig",
      alg: "ES256",
    }));
    return { keys };
  }

  token(name: string, nowMs: number, key = this.keys[0] as IssuerKey): string {
    const part = (value: object) => Buffer.from(JSON.stringify(value)).toString("base64url");
    const exp = Math.floor(nowMs / 1000) + 24 * 3600;
    const claims = { iss: this.url, aud: "kcp", sub: name, exp };
    const text = `${part({ alg: "ES256", kid: key.id })}.${part(claims)}`;
    const signing = { key: key.privateKey, dsaEncoding: "ieee-p1363" } as const;
    return `${text}.${sign("sha256", Buffer.from(text), signing).toString("base64url")}`;
  }

  close(): void {
    this.server.close();
    this.server.closeAllConnections();
  }
}

let issuer: TestIssuer;
let other: TestIssuer;
before(async () => {
  [issuer, other] = await Promise.all([TestIssuer.start(), TestIssuer.start()]);
});
after(() => {
  issuer.close();
  other.close();
});
afterEach(() => {
  for (const each of [issuer, other]) {
    each.mood = undefined;
    each.server.closeAllConnections();
  }
});

/** A server that trusts both issuers; the test moves its clock. */
class Gate {
  readonly clock = new FakeClock();
  readonly errors: string[] = [];
  readonly #gate: RequestAuthenticator;

  constructor() {
    const { clock } = this;
    const fetch = documentFetcher(clock);
    const tokens = [issuer, other].map(
      ({ url }) =>
        new IssuerAuthenticator({
          issuer: issuerOfFlags({
            issuerUrl: url,
            clientId: "kcp",
            usernamePrefix: "-",
            signingAlgorithms: ["ES256"],
            certificateAuthority: authority.certificatePem,
          }),
          apiAudiences: [],
          fetch,
          clock,
          onError: (error) => this.errors.push((error as Error).message),
        }),
    );
    this.#gate = new RequestAuthenticator({
      authenticators: [new BearerTokenAuthenticator(tokens, [])],
      anonymous: false,
    });
  }

  token(name: string, of = issuer, key = of.keys[0]): string {
    return of.token(name, this.clock.now(), key);
  }

  /** The user's name, or the reason of the rejection. */
  async outcome(token: string): Promise<string> {
    try {
      return (await this.#gate.authenticate({ authorization: `Bearer ${token}` })).username;
    } catch (error) {
      if (isAuthenticationError(error)) return error.message;
      throw error;
    }
  }

  /** Without waiting for a fetch. */
  atOnce(token: string): string | undefined {
    const user = this.#gate.authenticate({ authorization: `Bearer ${token}` });
    return user instanceof Promise ? undefined : user.username;
  }

  later(ms: number): void {
    this.clock.advance(ms);
  }
}

const notKnown = /the keys of its issuer are not known yet/;
const wrong = /its signature is not right/;

describe("an issuer that cannot be reached at the start", () => {
  it("authenticates no token, is fetched at a limited rate however many requests come, and authenticates tokens seconds after it is back", async () => {
    issuer.mood = down;
    const gate = new Gate();
    const alice = gate.token("alice");
    const before = issuer.asked;
    const outcomes = await Promise.all(Array.from({ length: 100 }, () => gate.outcome(alice)));
    for (const each of outcomes) assert.match(each, notKnown);
    assert.equal(issuer.asked - before, 1);
    assert.equal(gate.errors.length, 1);
    gate.later(fetchIntervalMinMs - 1);
    assert.match(await gate.outcome(alice), notKnown);
    assert.equal(issuer.asked - before, 1);
    issuer.mood = undefined;
    gate.later(1);
    assert.equal(await gate.outcome(alice), "alice");
  });
});

describe("an issuer that becomes unreachable", () => {
  it("has its users authenticated at once, known and new ones, for hours", async () => {
    const gate = new Gate();
    const alice = gate.token("alice");
    assert.equal(await gate.outcome(alice), "alice");
    issuer.mood = down;
    gate.later(keysAgeMaxMs);
    assert.equal(await gate.outcome(alice), "alice");
    const hour = 3_600_000;
    for (let round = 1; round <= 10; round++) {
      gate.later(round === 1 ? hour : fetchIntervalMinMs);
      const [asked, failed] = [issuer.asked, gate.errors.length];
      assert.equal(gate.atOnce(alice), "alice");
      for (let i = 0; i < 10; i++)
        assert.equal(gate.atOnce(gate.token(`new-${round}-${i}`)), `new-${round}-${i}`);
      await eventually(async () => assert.equal(gate.errors.length, failed + 1));
      assert.equal(issuer.asked, asked + 1);
    }
  });

  it("authenticates no token signed by an unknown key, and its keys are fetched at a limited rate", async () => {
    const gate = new Gate();
    assert.equal(await gate.outcome(gate.token("alice")), "alice");
    issuer.mood = down;
    gate.later(fetchIntervalMinMs);
    const before = issuer.asked;
    const forged = Array.from({ length: 50 }, () => gate.token("mallory", issuer, newKey()));
    for (const each of await Promise.all(forged.map((token) => gate.outcome(token))))
      assert.match(each, wrong);
    assert.ok(issuer.asked - before <= 1);
  });

  it("is trusted again when it is back: withdrawn keys are rejected, new ones are accepted", async () => {
    const gate = new Gate();
    const [old] = issuer.keys as [IssuerKey];
    const alice = gate.token("alice");
    assert.equal(await gate.outcome(alice), "alice");
    issuer.mood = down;
    gate.later(keysAgeMaxMs);
    assert.equal(await gate.outcome(alice), "alice");
    issuer.keys = [newKey()];
    issuer.mood = undefined;
    gate.later(fetchIntervalMinMs);
    assert.equal(await gate.outcome(gate.token("bob")), "bob");
    assert.match(await gate.outcome(alice), wrong);
    assert.match(await gate.outcome(gate.token("carol", issuer, old)), wrong);
  });
});

describe("an issuer that changes its keys", () => {
  it("has tokens of a new key accepted at once, and those of the old key as long as it is published", async () => {
    const gate = new Gate();
    const [old] = issuer.keys as [IssuerKey];
    const alice = gate.token("alice");
    assert.equal(await gate.outcome(alice), "alice");
    gate.later(fetchIntervalMinMs);
    issuer.keys = [newKey(), old];
    assert.equal(await gate.outcome(gate.token("bob")), "bob");
    assert.equal(await gate.outcome(alice), "alice");
    issuer.keys = issuer.keys.slice(0, 1);
    gate.later(fetchIntervalMinMs);
    // The first request triggers a fetch; the key is rejected with its response, within seconds.
    await eventually(async () => assert.match(await gate.outcome(alice), wrong));
    assert.equal(await gate.outcome(gate.token("bob")), "bob");
  });

  it("is fetched over a new connection, not over one that it has closed meanwhile", async () => {
    const gate = new Gate();
    assert.equal(await gate.outcome(gate.token("alice")), "alice");
    issuer.server.closeAllConnections();
    issuer.keys = [newKey()];
    gate.later(fetchIntervalMinMs);
    assert.equal(await gate.outcome(gate.token("bob")), "bob");
    assert.deepEqual(gate.errors, []);
  });

  it("has a withdrawn key rejected for the first request after a while", async () => {
    const gate = new Gate();
    const alice = gate.token("alice");
    assert.equal(await gate.outcome(alice), "alice");
    issuer.keys = [newKey()];
    gate.later(keysAgeMaxMs);
    assert.match(await gate.outcome(alice), wrong);
  });
});

describe("an issuer that responds slowly or never", () => {
  it("does not delay tokens signed by a known key, and delays tokens with unknown keys only until the timeout", async () => {
    const gate = new Gate();
    const alice = gate.token("alice");
    assert.equal(await gate.outcome(alice), "alice");
    issuer.mood = silent;
    gate.later(fetchIntervalMinMs);
    const before = issuer.asked;
    assert.equal(gate.atOnce(alice), "alice");
    const waiting = gate.outcome(gate.token("mallory", issuer, newKey()));
    await eventually(async () => assert.equal(issuer.asked, before + 1));
    assert.equal(gate.atOnce(alice), "alice");
    gate.later(fetchTimeoutMs);
    assert.match(await waiting, wrong);
    assert.match(gate.errors.at(-1) ?? "", /no answer in time$/);
    assert.equal(gate.atOnce(alice), "alice");
  });
});

describe("an issuer with invalid responses", () => {
  const wrongAnswers: readonly (readonly [string, Mood, RegExp])[] = [
    ["a page of a proxy", says(200, "<html>sorry</html>"), /no JSON/],
    ["nothing", says(200, ""), /no JSON/],
    ["null", says(200, "null"), /is the document of issuer/],
    ["an object of its own", says(200, "{}"), /is the document of issuer/],
    ["a failure", says(500, "{}"), /status 500/],
    ["a way elsewhere", says(302, "", { location: "https://127.0.0.1/" }), /status 302/],
    ["without end", endless, /more than 1048576 bytes/],
    ["half of it", halfAnswer, /aborted|hang up|reset/i],
  ];
  for (const [what, mood, why] of wrongAnswers)
    it(`keeps its users and gains none: ${what}`, async () => {
      const gate = new Gate();
      const alice = gate.token("alice");
      assert.equal(await gate.outcome(alice), "alice");
      issuer.mood = mood;
      gate.later(keysAgeMaxMs);
      assert.equal(await gate.outcome(alice), "alice");
      assert.match(gate.errors.at(-1) ?? "", why);
      assert.match(await gate.outcome(gate.token("mallory", issuer, newKey())), wrong);
      issuer.mood = undefined;
      gate.later(fetchIntervalMinMs);
      assert.equal(await gate.outcome(gate.token("bob")), "bob");
    });

  const keysThatAreNone: readonly (readonly [string, object])[] = [
    ["no list", { keys: "none" }],
    ["another document", { error: "try again" }],
  ];
  for (const [what, document] of keysThatAreNone)
    it(`keeps its users when its key set is ${what}`, async () => {
      const gate = new Gate();
      const alice = gate.token("alice");
      assert.equal(await gate.outcome(alice), "alice");
      issuer.mood = (request, response) => {
        const discovery = { issuer: issuer.url, jwks_uri: `${issuer.url}/keys` };
        response.end(JSON.stringify(request.url === "/keys" ? document : discovery));
      };
      gate.later(keysAgeMaxMs);
      assert.equal(await gate.outcome(alice), "alice");
      assert.match(gate.errors.at(-1) ?? "", /a key set has a list of keys/);
    });

  it("withdraws all keys by an empty set", async () => {
    const gate = new Gate();
    const alice = gate.token("alice");
    assert.equal(await gate.outcome(alice), "alice");
    const { keys } = issuer;
    issuer.keys = [];
    gate.later(keysAgeMaxMs);
    assert.match(await gate.outcome(alice), notKnown);
    issuer.keys = keys;
    gate.later(fetchIntervalMinMs);
    assert.equal(await gate.outcome(alice), "alice");
  });
});

describe("the users of another issuer", () => {
  for (const [what, mood] of [
    ["is down", down],
    ["says nothing", silent],
    ["does not end", endless],
    ["says rubbish", says(200, "rubbish")],
  ] as const)
    it(`are let in without waiting while this one ${what}`, async () => {
      const gate = new Gate();
      const olga = gate.token("olga", other);
      assert.equal(await gate.outcome(olga), "olga");
      issuer.mood = mood;
      const waiting = gate.outcome(gate.token("alice"));
      const before = issuer.asked;
      assert.equal(gate.atOnce(olga), "olga");
      assert.equal(gate.atOnce(gate.token("oscar", other)), "oscar");
      await eventually(async () => assert.ok(issuer.asked > before));
      gate.later(fetchTimeoutMs);
      assert.match(await waiting, notKnown);
      assert.equal(gate.atOnce(olga), "olga");
    });
});
