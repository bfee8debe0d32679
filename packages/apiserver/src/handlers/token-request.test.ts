import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { type Authorizer, bootstrapAuthorizer, unionAuthorizer } from "../authorization/index.ts";
import { ownCluster, startWithServiceAccounts, testIssuer } from "../testing/index.ts";
import { audienceLengthMax, audiencesMax } from "./token-request.ts";

type Server = Awaited<ReturnType<typeof startWithServiceAccounts>>;

/** Stands for RBAC: the account may read in its own cluster. */
const accountsRead: Authorizer = {
  authorize: ({ user, cluster, verb }) => ({
    allowed:
      verb === "get" &&
      user.username.startsWith("system:serviceaccount:") &&
      user.extra?.["authentication.kcp.io/cluster-name"]?.[0] === cluster,
    reason: "",
  }),
};

describe("a token request", () => {
  let server: Server;
  before(async () => {
    server = await startWithServiceAccounts({
      authorization: (rbac) =>
        unionAuthorizer([bootstrapAuthorizer, rbac, ownCluster, accountsRead]),
    });
    for (const cluster of ["a", "b"]) {
      const base = `/clusters/${cluster}/api/v1/namespaces/default`;
      const metadata = { name: "robot" };
      await server.requestOk("POST", `${base}/serviceaccounts`, { body: { metadata } });
      await server.requestOk("POST", `${base}/secrets`, { body: { metadata: { name: "s" } } });
      await server.requestOk("POST", `${base}/configmaps`, { body: { metadata: { name: "c" } } });
    }
  });
  after(() => server.close());

  const path = (cluster: string, name = "robot") =>
    `/clusters/${cluster}/api/v1/namespaces/default/serviceaccounts/${name}/token`;
  const ask = (spec: object, more: object = {}, cluster = "a") =>
    server.request("POST", path(cluster), { body: { spec, ...more } });
  const tokenOf = async (spec: object, cluster = "a") => {
    const { status } = (await ask(spec, {}, cluster)).object;
    return (status as { token: string }).token;
  };
  const withToken = (token: string) => ({
    user: "anonymous" as const,
    headers: { authorization: `Bearer ${token}` },
  });
  const read = (cluster: string, token: string) =>
    server.get(`/clusters/${cluster}/api/v1/namespaces/default/configmaps/c`, withToken(token));

  it("returns the token, its expiration and the defaulted fields", async () => {
    const answer = await ask({});
    assert.equal(answer.status, 201);
    const { kind, apiVersion, metadata, spec, status } = answer.object;
    assert.deepEqual([kind, apiVersion], ["TokenRequest", "authentication.k8s.io/v1"]);
    assert.deepEqual([metadata.name, metadata.namespace], ["robot", "default"]);
    assert.deepEqual(spec, {
      audiences: [testIssuer],
      expirationSeconds: 3600,
      boundObjectRef: null,
    });
    const { token, expirationTimestamp } = status as Record<string, string>;
    assert.match(String(token), /^eyJ/);
    assert.equal(Date.parse(String(expirationTimestamp)), server.clock.now() + 3600_000);
  });

  it("returns tokens that authenticate in their own logical cluster and in no other", async () => {
    const token = await tokenOf({});
    assert.equal((await read("a", token)).status, 200);
    const elsewhere = await read("b", token);
    assert.equal(elsewhere.status, 403);
    for (const target of [
      "/clusters/*/api/v1/configmaps",
      "/clusters/root/api/v1/namespaces/default/configmaps/c",
    ]) {
      assert.equal((await server.get(target, withToken(token))).status, 403, target);
    }
    // A request without a cluster is for the service account's own cluster.
    const unnamed = "/api/v1/namespaces/default/configmaps/c";
    const { status, object } = await server.get(unnamed, withToken(token));
    assert.equal(status, 200);
    assert.equal(object.metadata.uid, (await read("a", token)).object.metadata.uid);
  });

  it("is denied to unauthenticated clients, to other tenants, and over several clusters", async () => {
    const body = { spec: {} };
    assert.equal((await server.request("POST", path("a"), { body, user: "b" })).status, 403);
    assert.equal((await server.request("POST", path("a"), { body, user: "nobody" })).status, 403);
    assert.equal(
      (await server.request("POST", path("a"), { body, user: "anonymous" })).status,
      403,
    );
    assert.equal((await server.request("POST", path("a"), { body, user: "a" })).status, 201);
    assert.ok((await server.request("POST", path("*"), { body })).status >= 400);
  });

  it("returns a token that is invalid once the account is deleted, also for a new account of the same name", async () => {
    const base = "/clusters/a/api/v1/namespaces/default/serviceaccounts";
    const body = { metadata: { name: "short" } };
    await server.requestOk("POST", base, { body });
    const { status } = await server.requestOk("POST", `${base}/short/token`, {
      body: { spec: {} },
    });
    const { token } = status as { token: string };
    assert.equal((await read("a", token)).status, 200);
    await server.requestOk("DELETE", `${base}/short`);
    assert.equal((await read("a", token)).status, 401);
    await server.requestOk("POST", base, { body });
    assert.equal((await read("a", token)).status, 401);
  });

  it("binds to a secret of its own namespace and cluster, and to no other object", async () => {
    const bound = (reference: object) => ask({ boundObjectRef: reference });
    const secret = { kind: "Secret", apiVersion: "v1", name: "s" };
    const answer = await bound(secret);
    const { token } = answer.object["status"] as { token: string };
    assert.equal((await read("a", token)).status, 200);
    assert.match((await bound({ ...secret, name: "other" })).text, /secrets \\"other\\" not found/);
    const wrong = await bound({ ...secret, uid: "x" });
    assert.equal(wrong.status, 409);
    assert.match(wrong.text, /the UID in the bound object reference \(x\) does not match/);
    const pod = await bound({ kind: "Pod", apiVersion: "v1", name: "p" });
    assert.equal(pod.status, 400);
    assert.equal(pod.object.message, "cannot bind token to object of type /v1, Kind=Pod");
    await server.requestOk("DELETE", "/clusters/a/api/v1/namespaces/default/secrets/s");
    assert.equal((await read("a", token)).status, 401);
  });

  it("is rejected beyond its limits, with the messages of Kubernetes", async () => {
    const shorter = await ask({ expirationSeconds: 599 });
    assert.equal(shorter.status, 422);
    assert.equal(
      shorter.object.message,
      'TokenRequest.authentication.k8s.io "" is invalid: spec.expirationSeconds: Invalid value: 599: may not specify a duration less than 10 minutes',
    );
    assert.equal((await ask({ expirationSeconds: 600 })).status, 201);
    assert.equal((await ask({ expirationSeconds: 2 ** 32 })).status, 201);
    assert.match((await ask({ expirationSeconds: 2 ** 32 + 1 })).text, /larger than 2\^32 seconds/);
    const many = (length: number) => Array.from({ length }, (_, at) => `audience-${at}`);
    assert.equal((await ask({ audiences: many(audiencesMax) })).status, 201);
    assert.equal((await ask({ audiences: many(audiencesMax + 1) })).status, 422);
    assert.equal((await ask({ audiences: ["x".repeat(audienceLengthMax)] })).status, 201);
    assert.equal((await ask({ audiences: ["x".repeat(audienceLengthMax + 1)] })).status, 422);
  });

  it("is rejected when it contradicts its path or has the wrong kind", async () => {
    assert.match(
      (await ask({}, { metadata: { name: "x" } })).text,
      /must match the service account name/,
    );
    const elsewhere = await ask({}, { metadata: { namespace: "x", name: "x" } });
    assert.equal(elsewhere.status, 400);
    assert.equal(
      elsewhere.object.message,
      "the namespace of the provided object does not match the namespace sent on the request",
    );
    assert.equal((await ask({}, { kind: "Pod" })).status, 400);
    assert.equal((await ask({ audiences: "x" })).status, 400);
    assert.equal((await server.request("POST", path("a", "nosuch"), { body: {} })).status, 404);
    assert.equal((await server.get(path("a"))).status, 405);
  });

  it("with a uid is rejected when the account has another uid", async () => {
    const { uid = "" } = (await ask({})).object.metadata;
    assert.equal((await ask({}, { metadata: { uid } })).status, 201);
    const other = await ask({}, { metadata: { uid: "other" } });
    assert.equal(other.status, 409);
    assert.equal(
      other.object.message,
      `Operation cannot be fulfilled on TokenRequest.authentication.k8s.io "robot": the UID in the token request (other) does not match the UID of the service account (${uid})`,
    );
  });

  it("returns a token that a TokenReview rejects for other audiences, naming the token's own", async () => {
    const token = await tokenOf({ audiences: ["vault", "x"] });
    const review = async (spec: object) =>
      (
        await server.requestOk("POST", "/clusters/b/apis/authentication.k8s.io/v1/tokenreviews", {
          body: { spec },
        })
      )["status"];
    assert.deepEqual(await review({ token, audiences: ["other"] }), {
      user: {},
      error:
        '[invalid bearer token, token audiences ["vault" "x"] is invalid for the target audiences ["other"]]',
    });
    const forged = `${token.slice(0, -4)}AAAA`;
    assert.deepEqual(await review({ token: forged, audiences: ["other"] }), {
      user: {},
      error: "invalid bearer token",
    });
  });

  it("is in discovery as a kind of its own group", async () => {
    const { resources } = (await server.get("/clusters/a/api/v1")).object;
    const found = (resources as { name: string }[]).find(
      ({ name }) => name === "serviceaccounts/token",
    );
    assert.deepEqual(found, {
      name: "serviceaccounts/token",
      singularName: "",
      namespaced: true,
      kind: "TokenRequest",
      group: "authentication.k8s.io",
      version: "v1",
      verbs: ["create"],
    });
  });
});

describe("the issuer's documents", () => {
  it("describe how to verify tokens, and are the same in every logical cluster", async () => {
    const server = await startWithServiceAccounts();
    try {
      const [root, tenant] = [
        await server.get("/.well-known/openid-configuration"),
        await server.get("/clusters/a/.well-known/openid-configuration"),
      ];
      assert.deepEqual(root.object, {
        issuer: testIssuer,
        jwks_uri: "https://keys.example/jwks",
        response_types_supported: ["id_token"],
        subject_types_supported: ["public"],
        id_token_signing_alg_values_supported: ["ES256"],
      });
      assert.equal(tenant.text, root.text);
      const keySet = await server.get("/openid/v1/jwks");
      assert.equal(keySet.headers["content-type"], "application/jwk-set+json");
      assert.match(String(keySet.headers["cache-control"]), /max-age=3600/);
      const { keys } = keySet.object as unknown as { keys: Record<string, string>[] };
      assert.deepEqual(Object.keys(keys[0] ?? {}).sort(), [
        "alg",
        "crv",
        "kid",
        "kty",
        "use",
        "x",
        "y",
      ]);
      const stranger = await server.get("/openid/v1/jwks", { user: "anonymous" });
      assert.equal(stranger.status, 403);
    } finally {
      await server.close();
    }
  });
});
