/**
 * The control loops of the server under crashes after each of their writes, and under every pattern
 * of faults: what is to be removed is removed, what is to be there is there, and nothing is written
 * for ever.
 */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { runControlLoops } from "@kcp-ts/controllers";
import { LoopSupervisor } from "@kcp-ts/machinery/base";
import { issueServingMaterial } from "@kcp-ts/pki";
import { controlledBy } from "@kcp-ts/sdk";
import {
  certificateSigningRequests,
  configMaps,
  events,
  namespaces,
  resourceQuotas,
  secrets,
  serviceAccounts,
} from "@kcp-ts/sdk/kinds";
import { exploreFaults, type FaultyTest, faultPatterns } from "@kcp-ts/testing";
import { opensslRequest } from "@kcp-ts/testing/internal";

const timeoutMs = 20_000;
const { certificatePem } = issueServingMaterial("alice", "127.0.0.1");
const request = opensslRequest("/CN=alice");

/** The loops work in all logical clusters; the test looks at its own. */
const collects: FaultyTest = async ({ client, runController, eventuallyStable }) => {
  runController((given, signal) => {
    const { clock, random } = given;
    const supervisor = new LoopSupervisor({ clock, random, onDown() {} });
    return runControlLoops({ client: given, caPem: "ca", clock, supervisor, onError() {} }, signal);
  });
  const maps = client.resource(configMaps);
  await client.resource(namespaces).create({ metadata: { name: "shop" } });
  await eventuallyStable(
    async () => {
      await maps.get({ name: "kube-root-ca.crt", namespace: "shop" });
      await client.resource(serviceAccounts).get({ name: "default", namespace: "shop" });
    },
    { timeoutMs },
  );
  const owner = await maps.create({ metadata: { name: "owner", namespace: "shop" } });
  for (const name of ["a", "b"]) {
    const ownerReferences = [controlledBy(owner)];
    await maps.create({ metadata: { name, namespace: "shop", ownerReferences } });
  }
  const finalizers = ["example.com/hold"];
  await maps.create({ metadata: { name: "held", namespace: "shop", finalizers } });
  await maps.delete({ name: "owner", namespace: "shop" }, { propagationPolicy: "Foreground" });
  await eventuallyStable(
    async () => {
      const { items } = await maps.list({ namespace: "shop" });
      const names = items.map(({ metadata }) => metadata.name).sort();
      assert.deepEqual(names, ["held", "kube-root-ca.crt"]);
    },
    { timeoutMs },
  );
  await client.resource(namespaces).delete({ name: "shop" });
  const patch = { metadata: { finalizers: null } };
  await maps.patch({ name: "held", namespace: "shop" }, { type: "merge", patch });
  await eventuallyStable(
    async () => assert.equal(await client.resource(namespaces).find({ name: "shop" }), undefined),
    { timeoutMs },
  );
};

const issueToken = ({ uid }: { readonly uid: string }) => `token of ${uid}`;

/** Tokens are issued once, and quotas say in the end what there is. */
const issues: FaultyTest = async ({ client, runController, eventuallyStable }) => {
  runController((given, signal) => {
    const { clock, random } = given;
    const supervisor = new LoopSupervisor({ clock, random, onDown() {} });
    const options = { client: given, caPem: "ca", clock, supervisor, issueToken, onError() {} };
    return runControlLoops(options, signal);
  });
  const namespace = "shop";
  await client.resource(namespaces).create({ metadata: { name: namespace } });
  const robot = await client
    .resource(serviceAccounts)
    .create({ metadata: { name: "robot", namespace } });
  await eventuallyStable(
    () => client.resource(configMaps).get({ name: "kube-root-ca.crt", namespace }),
    { timeoutMs },
  );
  const hard = { configmaps: "9", secrets: "9" };
  await client
    .resource(resourceQuotas)
    .create({ metadata: { name: "quota", namespace }, spec: { hard } });
  const annotations = { "kubernetes.io/service-account.name": "robot" };
  await client
    .resource(secrets)
    .create({
      metadata: { name: "robot-token", namespace, annotations },
      type: "kubernetes.io/service-account-token",
    });
  for (const name of ["a", "b"])
    await client.resource(configMaps).create({ metadata: { name, namespace } });
  await client.resource(configMaps).delete({ name: "a", namespace });
  await eventuallyStable(
    async () => {
      const { data } = await client.resource(secrets).get({ name: "robot-token", namespace });
      const token = Buffer.from(data?.["token"] ?? "", "base64").toString("utf8");
      assert.equal(token, `token of ${robot.metadata.uid}`);
      const { status } = await client.resource(resourceQuotas).get({ name: "quota", namespace });
      assert.deepEqual(status?.used, { configmaps: "2", secrets: "1" });
    },
    { timeoutMs },
  );
  // With its account the token goes.
  await client.resource(serviceAccounts).delete({ name: "robot", namespace });
  await eventuallyStable(
    async () => {
      const found = await client.resource(secrets).find({ name: "robot-token", namespace });
      assert.equal(found, undefined);
      const { status } = await client.resource(resourceQuotas).get({ name: "quota", namespace });
      assert.deepEqual(status?.used, { configmaps: "2", secrets: "0" });
    },
    { timeoutMs },
  );
};

/** An approved request is signed; an Event goes when its time has come. */
const signs: FaultyTest = async ({ client, runController, eventuallyStable }) => {
  runController((given, signal) => {
    const { clock, random } = given;
    const supervisor = new LoopSupervisor({ clock, random, onDown() {} });
    const signCertificate = () => ({ certificatePem });
    const own = { client: given, caPem: "ca", clock, supervisor, onError() {} };
    return runControlLoops({ ...own, signCertificate, eventTtlMs: 2000 }, signal);
  });
  const requests = client.resource(certificateSigningRequests);
  const signerName = "kubernetes.io/kube-apiserver-client";
  for (const name of ["alice", "bob"]) {
    const spec = { request, signerName, usages: ["client auth"] };
    const made = await requests.create({ metadata: { name }, spec });
    const approved = { type: "Approved", status: "True", reason: "Test", message: "by a test" };
    await requests
      .subresource<typeof made>("approval")
      .update({ name }, { ...made, status: { conditions: [approved] } });
  }
  const namespace = "default";
  for (const name of ["old", "older"]) {
    const involvedObject = { kind: "ConfigMap", namespace, name: "x" };
    const event = {
      metadata: { namespace, name },
      involvedObject,
      type: "Normal",
      reason: "Tested",
    };
    await client.resource(events).create(event);
  }
  await eventuallyStable(
    async () => {
      for (const name of ["alice", "bob"]) {
        const { status } = await requests.get({ name });
        assert.equal(atob(status?.certificate ?? ""), certificatePem);
      }
      assert.deepEqual((await client.resource(events).list({ namespace })).items, []);
    },
    { timeoutMs },
  );
};

/** A crash at each write; other faults of writes at some, and all at once. */
async function explore(test: FaultyTest): Promise<readonly string[]> {
  const { writes, untried } = await exploreFaults(test, {
    controlLoops: false,
    patterns: ["crash"],
  });
  assert.deepEqual(untried, []);
  const patterns = faultPatterns.filter((one) => one !== "crash");
  await exploreFaults(test, { controlLoops: false, patterns, crashesMax: 4 });
  return writes;
}

describe("the control loops", () => {
  it("sign certificates and let Events expire after a crash at each write, and under all faults", async () => {
    const writes = await explore(signs);
    assert.ok(writes.length >= 4, writes.join("; "));
  });

  it("issue tokens and count quotas as well after a crash at each write, and under all faults", async () => {
    const writes = await explore(issues);
    assert.ok(writes.length >= 4);
  });

  it("reach the same state after a crash at each of their writes, and under all faults", async () => {
    const writes = await explore(collects);
    assert.ok(writes.length > 5);
  });
});
