/**
 * Goal: when tokens of Pods are renewed, and what stands in the way is said. Method: the controller
 * alone, on a clock that stands still; what splitter and syncers would write, the test does.
 */
import assert from "node:assert/strict";
import { describe, it, type TestContext } from "node:test";
import type { JsonObject } from "@kcp-ts/machinery/json";
import {
  type AgentServer,
  apiAccess,
  apiAccessLabel,
  apiAccessSecretName,
  apiAccessTokenSecondsDefault,
  clusterLabel,
  readToken,
  stateLabel,
  syncerFinalizer,
} from "@kcp-ts/multicluster";
import type { KubernetesObject } from "@kcp-ts/sdk";
import { customResourceDefinitions as definitions } from "@kcp-ts/sdk/kinds";
import { secrets, startTestControlPlane } from "@kcp-ts/testing/internal";
import { accounts, tokenOf } from "./api-access-fixture.ts";
import { deployment, deployments, eventually } from "./fixture.ts";

const namespace = "default";
const at = { namespace, name: "web" };
const secretOf = (target: string) =>
  apiAccessSecretName({ kind: "Deployment", name: "web", target });
const lifeMs = apiAccessTokenSecondsDefault * 1000;

async function start(t: TestContext, tokenSeconds?: number) {
  const plane = await startTestControlPlane({ clock: "fake", controlLoops: false });
  const { clock } = plane;
  const client = plane.clientFor("acme");
  await client.resource(definitions).create(deploymentsDefinition);
  await eventually(() => client.resource(deployments).list({ namespace }));
  await client.resource(accounts).create({ metadata: { namespace, name: "default" } });
  const stop = new AbortController();
  const errors: unknown[] = [];
  const at: { server: AgentServer | undefined } = {
    server: { url: "https://kcp.example:6443", caPem: "the authority" },
  };
  const running = apiAccess({
    client: plane.clientFor("*"),
    server: () => at.server,
    tokenSeconds,
    clock,
    onError: (error) => void errors.push(error),
  }).run(stop.signal);
  t.after(async () => {
    stop.abort();
    await clock.advanceAndFlush(60_000);
    await running;
    await plane.close();
  });
  const make = (target: string, podSpec: object = {}) => {
    const { metadata, ...rest } = deployment("web", podSpec);
    const labels = { [apiAccessLabel]: "true", [clusterLabel]: target };
    return client.resource(deployments).create({ ...rest, metadata: { ...metadata, labels } });
  };
  const patch = (metadata: object) =>
    client
      .resource(deployments)
      .patch({ namespace, name: "web" }, { type: "merge", patch: { metadata } as JsonObject });
  const secret = (target: string) =>
    client.resource(secrets).find({ namespace, name: secretOf(target) });
  const filled = async (target: string) => {
    const token = await eventually(async () => {
      const found = await tokenOf(client, secretOf(target));
      assert.notEqual(found, "");
      return found;
    });
    // What its own writes lead to is done, too.
    await clock.advanceAndFlush(0);
    return token;
  };
  const told = async (text: string) =>
    await eventually(async () => {
      const path = `/api/v1/namespaces/${namespace}/events`;
      const { items = [] } = (await client.json({ method: "GET", path })) as {
        items?: { message: string; reason: string }[];
      };
      const messages = items.map(({ reason, message }) => `${reason}: ${message}`);
      assert.ok(
        messages.some((message) => message.includes(text)),
        `${messages.join("\n")}\n${errors.join("\n")}`,
      );
    });
  return { plane, client, clock, at, make, patch, secret, filled, told, errors };
}

describe("the Secret by which Pods have access", () => {
  it("holds a token of a day, bound to it, and where the server is; it is the workload's, for its cluster", async (t) => {
    const { clock, client, make, filled, secret } = await start(t);
    const { metadata } = await make("east");
    const token = await filled("east");
    const found = await secret("east");
    const account = await client.resource(accounts).get({ namespace, name: "default" });
    assert.deepEqual(readToken(token), {
      issuedAtMs: clock.now(),
      expiresAtMs: clock.now() + lifeMs,
      namespace,
      name: "default",
      uid: account.metadata.uid,
      secretUid: found?.metadata.uid,
    });
    const { token: _, ...rest } = found?.data ?? {};
    const texts = Object.entries(rest).map(([key, text]) => [
      key,
      Buffer.from(text, "base64").toString(),
    ]);
    assert.deepEqual(Object.fromEntries(texts), {
      "ca.crt": "the authority",
      namespace,
      host: "kcp.example",
      port: "6443",
    });
    assert.deepEqual(found?.metadata.labels, {
      [apiAccessLabel]: "true",
      [stateLabel("east")]: "Sync",
    });
    assert.deepEqual(
      found.metadata.ownerReferences?.map(({ uid, controller }) => [uid, controller]),
      [[metadata.uid, true]],
    );
  });

  it("is renewed when half of the token's life is over, and not before", async (t) => {
    const seconds = 600;
    const { clock, client, make, filled } = await start(t, seconds);
    await make("east");
    const first = await filled("east");
    await clock.advanceAndFlush((seconds / 2 - 1) * 1000);
    assert.equal(await tokenOf(client, secretOf("east")), first);
    await clock.advanceAndFlush(2000);
    const second = await eventually(async () => {
      const found = await tokenOf(client, secretOf("east"));
      assert.notEqual(found, first);
      return found;
    });
    assert.ok((readToken(second)?.expiresAtMs ?? 0) > (readToken(first)?.expiresAtMs ?? 0));
  });

  it("is there for as long as something of the workload may be in the cluster", async (t) => {
    const { make, patch, filled, secret } = await start(t);
    await make("east");
    await filled("east");
    const finalizers = [syncerFinalizer("east")];
    await patch({ finalizers });
    await patch({ labels: { [clusterLabel]: "west" } });
    await filled("west");
    assert.ok((await secret("east")) !== undefined);
    await patch({ finalizers: [] });
    await eventually(async () => assert.equal(await secret("east"), undefined));
    assert.ok((await secret("west")) !== undefined);
  });

  it("is restored when another client changes it, and is copied to no other cluster", async (t) => {
    const { client, make, filled, secret } = await start(t);
    await make("east");
    const token = await filled("east");
    const name = { namespace, name: secretOf("east") };
    const labels = { [stateLabel("west")]: "Sync", [clusterLabel]: "north", mine: "yes" };
    const data = { host: Buffer.from("evil.example").toString("base64"), more: "eA==" };
    const tampered = await client
      .resource(secrets)
      .patch(name, { type: "merge", patch: { metadata: { labels }, data } });
    const mended = await eventually(async () => {
      const found = await secret("east");
      assert.ok(found !== undefined);
      assert.notEqual(found.metadata.resourceVersion, tampered.metadata.resourceVersion);
      return found;
    });
    const { host = "", more } = mended.data ?? {};
    assert.equal(Buffer.from(host, "base64").toString(), "kcp.example");
    assert.equal(more, undefined);
    assert.deepEqual(mended.metadata.labels, {
      [apiAccessLabel]: "true",
      [stateLabel("east")]: "Sync",
      mine: "yes",
    });
    assert.equal(await tokenOf(client, secretOf("east")), token);
  });

  it("is not made for Pods that want no token, nor without a cluster", async (t) => {
    const { client, make, patch, filled, secret } = await start(t);
    await make("", { automountServiceAccountToken: false });
    await patch({ labels: { [clusterLabel]: "east" } });
    const other = deployment("probe");
    const labels = { [apiAccessLabel]: "true", [clusterLabel]: "east" };
    await client
      .resource(deployments)
      .create({ ...other, metadata: { ...other.metadata, labels } });
    const probe = apiAccessSecretName({ kind: "Deployment", name: "probe", target: "east" });
    await eventually(async () => assert.notEqual(await tokenOf(client, probe), ""));
    assert.equal(await secret("east"), undefined);
    const template = { spec: { automountServiceAccountToken: null } };
    await client.resource(deployments).patch(at, { type: "merge", patch: { spec: { template } } });
    await filled("east");
  });

  it("does not take the place of another's, and says so", async (t) => {
    const { client, clock, make, told, filled } = await start(t);
    const name = secretOf("east");
    const data = { token: Buffer.from("theirs").toString("base64") };
    const { metadata } = await client
      .resource(secrets)
      .create({ metadata: { namespace, name }, data });
    await make("east");
    await told(`ApiAccessFailed: its Pods cannot talk to the control plane: the Secret ${name}`);
    const found = await client.resource(secrets).get({ namespace, name });
    assert.equal(found.metadata.resourceVersion, metadata.resourceVersion);
    await client.resource(secrets).delete({ namespace, name });
    await clock.advanceAndFlush(10_000);
    await filled("east");
  });

  it("waits for a server that has an address, and says so", async (t) => {
    const { clock, at: where, make, told, filled, secret } = await start(t);
    const { server } = where;
    where.server = undefined;
    await make("east");
    await told("the control plane has no address");
    assert.equal(await secret("east"), undefined);
    where.server = { ...server, url: "https://[fd00::1]" };
    await clock.advanceAndFlush(10_000);
    await filled("east");
    const { host = "", port = "" } = (await secret("east"))?.data ?? {};
    const texts = [host, port].map((text) => Buffer.from(text, "base64").toString());
    assert.deepEqual(texts, ["fd00::1", "443"]);
  });

  it("is of the workload's own logical cluster and namespace, whatever others are called", async (t) => {
    const { plane, make, filled } = await start(t);
    const other = plane.clientFor("other");
    await other.resource(definitions).create(deploymentsDefinition);
    // It is not of the workload, whatever it says.
    const owner = { apiVersion: "apps/v1", kind: "Deployment", name: "web", uid: "x" };
    const metadata = {
      namespace,
      name: secretOf("east"),
      labels: { [apiAccessLabel]: "true" },
      ownerReferences: [{ ...owner, controller: true }],
    };
    const before = await other.resource(secrets).create({ metadata });
    await make("east");
    const token = await filled("east");
    const claims = JSON.parse(
      Buffer.from(token.split(".")[1] ?? "", "base64url").toString(),
    ) as Record<string, { clusterName?: string }>;
    assert.equal(claims["kubernetes.io"]?.clusterName, "acme");
    const after: KubernetesObject = await other
      .resource(secrets)
      .get({ namespace, name: secretOf("east") });
    assert.equal(after.metadata.resourceVersion, before.metadata.resourceVersion);
  });
});

const deploymentsDefinition = {
  metadata: {
    name: "deployments.apps",
    annotations: { "api-approved.kubernetes.io": "unapproved, for a test" },
  },
  spec: {
    group: "apps",
    scope: "Namespaced",
    names: {
      plural: "deployments",
      singular: "deployment",
      kind: "Deployment",
      listKind: "DeploymentList",
    },
    versions: [
      {
        name: "v1",
        served: true,
        storage: true,
        schema: {
          openAPIV3Schema: { type: "object", "x-kubernetes-preserve-unknown-fields": true },
        },
      },
    ],
  },
};
