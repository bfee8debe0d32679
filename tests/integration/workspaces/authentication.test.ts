/**
 * Goal: tokens of an issuer that a workspace type names are valid in workspaces of that type, and
 * nowhere else; and whatever such an issuer claims, its users get no system identity.
 */
import assert from "node:assert/strict";
import { createPublicKey, generateKeyPairSync, sign } from "node:crypto";
import { createServer, type Server } from "node:https";
import type { AddressInfo } from "node:net";
import { after, before, describe, it } from "node:test";
import { systemClock } from "@kcp-ts/machinery/base";
import { createCertificateAuthority, exportKey, generateKey, issueCertificate } from "@kcp-ts/pki";
import { workspaceAuthenticationConfigurations as configurations } from "@kcp-ts/sdk/kinds";
import { eventually } from "@kcp-ts/testkit";
import {
  alice,
  kinds,
  master,
  specOf,
  statusOfRejection,
  WorkspaceFixture,
} from "./workspace-fixture.ts";

/** Whom this server's tokens are for, when nobody says otherwise. */
const ourselves = "https://kcp.default.svc";

class Issuer {
  readonly server: Server;
  readonly caPem: string;
  readonly #key = generateKeyPairSync("ec", { namedCurve: "P-256" }).privateKey;
  url = "";

  constructor() {
    const now = systemClock.now();
    const authority = createCertificateAuthority({ commonName: "issuer", now });
    const key = generateKey();
    const { certificatePem: cert } = issueCertificate({
      authority,
      key,
      now,
      subject: { commonName: "issuer" },
      purposes: ["serverAuth"],
      hostnames: ["127.0.0.1"],
    });
    this.caPem = authority.certificatePem;
    this.server = createServer({ cert, key: exportKey(key) }, ({ url }, response) => {
      const jwk = createPublicKey(this.#key).export({ format: "jwk" });
      const answer =
        url === "/keys"
          ? { keys: [{ ...jwk, kid: "k", use: "sig", alg: "ES256" }] }
          : { issuer: this.url, jwks_uri: `${this.url}/keys` };
      response.writeHead(200).end(JSON.stringify(answer));
    });
  }

  async start(): Promise<void> {
    await new Promise<void>((resolve) => this.server.listen(0, "127.0.0.1", resolve));
    this.url = `https://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  async stop(): Promise<void> {
    this.server.closeAllConnections();
    await new Promise((resolve) => this.server.close(resolve));
  }

  token(claims: object): string {
    const part = (value: object) => Buffer.from(JSON.stringify(value)).toString("base64url");
    const exp = Math.floor(systemClock.now() / 1000) + 600;
    const body = { iss: this.url, aud: ["team", ourselves], exp, ...claims };
    const signed = `${part({ alg: "ES256", kid: "k" })}.${part(body)}`;
    const options = { key: this.#key, dsaEncoding: "ieee-p1363" } as const;
    return `${signed}.${sign("sha256", Buffer.from(signed), options).toString("base64url")}`;
  }

  configuration(name: string, claimMappings: object = {}) {
    const { url, caPem: certificateAuthority } = this;
    const issuer = { url, certificateAuthority, audiences: ["team"] };
    const mappings = { username: { claim: "sub" }, groups: { claim: "groups" }, ...claimMappings };
    return { metadata: { name }, spec: { jwt: [{ issuer, claimMappings: mappings }] } };
  }
}

describe("tokens of a workspace type's issuers", () => {
  const [first, second] = [new Issuer(), new Issuer()];
  let fixture: WorkspaceFixture;
  let cluster = "";

  before(async () => {
    await Promise.all([first.start(), second.start()]);
    fixture = await WorkspaceFixture.start();
    await fixture.workspace("root", "org", { user: master });
    const own = fixture.at("root:org", master).resource(configurations);
    const extra = [
      { key: "example.com/shoe", valueExpression: "'44'" },
      { key: "authentication.kcp.io/scopes", valueExpression: "'cluster:root'" },
    ];
    await own.create(first.configuration("first", { extra }) as never);
    await own.create(second.configuration("second") as never);
    await own.create({
      metadata: { name: "broken" },
      spec: {
        jwt: [
          {
            issuer: { url: "http://plain.example.com", audiences: ["team"] },
            claimMappings: { username: { claim: "sub" } },
          },
        ],
      },
    } as never);
    await fixture
      .at("root:org", master)
      .resource(kinds.types)
      .create({
        metadata: { name: "federated" },
        spec: {
          extend: { with: [{ name: "universal", path: "root" }] },
          authenticationConfigurations: [{ name: "broken" }, { name: "first" }],
        },
      } as never);
    const made = await fixture.workspace("root:org", "team", {
      user: master,
      type: "root:org:federated",
    });
    cluster = String(specOf(made)["cluster"]);
    await fixture.workspace("root:org", "other", { user: master, type: "root:universal" });
    for (const path of ["root:org:team", "root:org:other", "root:org"]) {
      const name = `fed-${path.replaceAll(":", "-")}`;
      await fixture
        .at(path, master)
        .resource(kinds.clusterRoleBindings)
        .create({
          metadata: { name },
          roleRef: {
            apiGroup: "rbac.authorization.k8s.io",
            kind: "ClusterRole",
            name: "cluster-admin",
          },
          subjects: [
            { apiGroup: "rbac.authorization.k8s.io", kind: "User", name: "fred" },
            { apiGroup: "rbac.authorization.k8s.io", kind: "Group", name: "crew" },
          ],
        } as never);
    }
  });
  after(async () => {
    await fixture.close();
    await Promise.all([first.stop(), second.stop()]);
  });

  async function ask(token: string, target: string, body?: object) {
    const bytes = body === undefined ? new Uint8Array() : Buffer.from(JSON.stringify(body));
    const { status, body: answer } = await fixture.plane.server.handle({
      method: body === undefined ? "GET" : "POST",
      target,
      headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
      remoteAddress: "127.0.0.1",
      clientCertificate: undefined,
      onClose: () => {},
      readBody: async () => bytes,
    });
    const parts: Uint8Array[] = [];
    if (answer instanceof Uint8Array) parts.push(answer);
    else for await (const part of answer ?? []) parts.push(part);
    return { status, text: Buffer.concat(parts).toString("utf8") };
  }
  const list = (token: string, path: string) => ask(token, `/clusters/${path}/api/v1/configmaps`);
  const whoIs = async (token: string) => {
    const { text } = await ask(
      token,
      `/clusters/${cluster}/apis/authentication.k8s.io/v1/selfsubjectreviews`,
      { apiVersion: "authentication.k8s.io/v1", kind: "SelfSubjectReview" },
    );
    return (
      JSON.parse(text) as {
        status: {
          userInfo: { username: string; groups: string[]; extra: Record<string, string[]> };
        };
      }
    ).status.userInfo;
  };

  const table: readonly [who: string, claims: object, path: string, code: number][] = [
    ["a user who was given rights, by the path", { sub: "fred" }, "root:org:team", 200],
    ["a member of a group that was", { sub: "x", groups: ["crew"] }, "root:org:team", 200],
    ["somebody else", { sub: "gina" }, "root:org:team", 403],
    ["a user who was given rights, next door", { sub: "fred" }, "root:org:other", 401],
    ["the same, above", { sub: "fred" }, "root:org", 401],
    ["the same, everywhere", { sub: "fred" }, "*", 401],
    ["somebody of the system's", { sub: "system:admin" }, "root:org:team", 401],
    ["a member of the masters", { sub: "x", groups: ["system:masters"] }, "root:org:team", 403],
    ["whoever is meant for others", { sub: "fred", aud: ["team"] }, "root:org:team", 401],
    ["whoever is not meant for the team", { sub: "fred", aud: [ourselves] }, "root:org:team", 401],
    ["whoever came too late", { sub: "fred", exp: 1 }, "root:org:team", 401],
  ];
  for (const [who, claims, path, code] of table) {
    it(`${who}: ${code}`, async () => {
      assert.equal((await list(first.token(claims), path)).status, code);
    });
  }

  it("by the name of the cluster as by its path", async () => {
    assert.equal((await list(first.token({ sub: "fred" }), cluster)).status, 200);
  });

  it("carry the user's name and groups, and none of the groups that the system reserves", async () => {
    const groups = ["crew", "system:masters", "system:kcp:admin"];
    const { username, groups: found, extra } = await whoIs(first.token({ sub: "fred", groups }));
    assert.equal(username, "fred");
    assert.deepEqual(found, ["crew", "system:authenticated"]);
    assert.deepEqual(extra, {
      "example.com/shoe": ["44"],
      "authentication.kcp.io/scopes": [`cluster:${cluster}`],
      "authentication.kcp.io/cluster-name": [cluster],
    });
  });

  it("are reviewed in the workspace that they are for", async () => {
    const spec = { token: first.token({ sub: "fred" }) };
    const review = (path: string) =>
      fixture
        .at(path, master)
        .json({
          method: "POST",
          path: "/apis/authentication.k8s.io/v1/tokenreviews",
          body: { apiVersion: "authentication.k8s.io/v1", kind: "TokenReview", spec },
        } as never) as Promise<{
        status: { authenticated?: boolean; user: { username?: string } };
      }>;
    const here = await review("root:org:team");
    assert.equal(here.status.authenticated, true);
    assert.equal(here.status.user.username, "fred");
    assert.notEqual((await review("root:org:other")).status.authenticated, true);
  });

  it("of an issuer that is named later are good from then on, beside those of the first", async () => {
    const token = second.token({ sub: "fred" });
    assert.equal((await list(token, "root:org:team")).status, 401);
    const types = fixture.at("root:org", master).resource(kinds.types);
    const found = await types.get({ name: "federated" });
    const authenticationConfigurations = [{ name: "first" }, { name: "second" }];
    const spec = { ...specOf(found), authenticationConfigurations };
    await types.update({ ...found, spec } as never);
    await eventually(async () => assert.equal((await list(token, "root:org:team")).status, 200), {
      timeoutMs: 60_000,
    });
    assert.equal((await list(first.token({ sub: "fred" }), "root:org:team")).status, 200);
  });

  it("do not hold against users that everybody knows", async () => {
    const known = fixture.at("root:org:team", alice).resource(kinds.configMaps).list({});
    assert.equal((await statusOfRejection(known)).code, 403);
  });

  const wrong: readonly [says: RegExp, jwt: object][] = [
    [/either claim or expression must be specified/, { username: {} }],
    [
      /claim and expression cannot both be specified/,
      { username: { claim: "a", expression: "b" } },
    ],
    [
      /prefix can only be specified when claim is specified/,
      { username: { expression: "a", prefix: "b" } },
    ],
  ];
  for (const [says, claimMappings] of wrong) {
    it(`are configured by what makes sense: ${says.source}`, async () => {
      const issuer = { url: "https://x.example.com", audiences: ["team"] };
      const body = { metadata: { name: "wrong" }, spec: { jwt: [{ issuer, claimMappings }] } };
      const refused = await statusOfRejection(
        fixture
          .at("root:org", master)
          .resource(configurations)
          .create(body as never),
      );
      assert.equal(refused.code, 422);
      assert.match(refused.message, says);
    });
  }
});
