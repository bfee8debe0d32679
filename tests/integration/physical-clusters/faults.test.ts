/**
 * Goal: what is wrong with a cluster is in a condition and in an Event, in words that say what to
 * do next.
 */
import assert from "node:assert/strict";
import { describe, it, type TestContext } from "node:test";
import { type Clock, systemClock } from "@kcp-ts/machinery/base";
import { clusterLabel, type SyncTarget, syncTargets } from "@kcp-ts/multicluster";
import { createCertificateAuthority, exportKey, generateKey, issueCertificate } from "@kcp-ts/pki";
import { type Client, events, findCondition } from "@kcp-ts/sdk";
import { startSimulatedCluster } from "@kcp-ts/simulator";
import { startTestControlPlane } from "@kcp-ts/testing/internal";
import {
  deployment,
  deployments,
  eventually,
  fastProbes,
  register,
  startControlPlaneWithClusters,
  startPhysicalCluster,
  untilCondition,
  untilImport,
} from "./fixture.ts";

const dayMs = 86_400_000;

function messageOf(target: SyncTarget, type = "Ready"): string {
  return findCondition(target.status?.conditions, type)?.message ?? "";
}

async function untilEvent(client: Client, name: string, reason: string): Promise<string> {
  return await eventually(async () => {
    const { items } = await client.resource(events).list();
    const found = items.find(
      (one) => one.reason === reason && one.involvedObject.name === name && one.type === "Warning",
    );
    assert.ok(found !== undefined, items.map((one) => `${one.reason} ${one.message}`).join("; "));
    assert.ok(found.message.startsWith(`SyncTarget ${name}: `), found.message);
    return found.message;
  });
}

describe("a fault of a cluster", () => {
  it("an unreachable cluster is reported in an Event, too", async (t) => {
    const plane = await startControlPlaneWithClusters(t);
    const east = await startPhysicalCluster(t, { name: "east" });
    const { kubeconfig } = east;
    await east.faults.cut();
    await register(plane.client, "east", { kubeconfig });
    const reason = "ClusterUnreachable";
    await untilCondition(plane.client, "east", { status: "False", reason });
    assert.match(await untilEvent(plane.client, "east", reason), /check that the cluster runs/);
  });

  it("an expired serving certificate is distinguished from an untrusted one", async (t) => {
    const plane = await startControlPlaneWithClusters(t);
    const now = systemClock.now() - 40 * dayMs;
    const authority = createCertificateAuthority({ commonName: "old-ca", now });
    const key = generateKey();
    const { certificatePem } = issueCertificate({
      authority,
      subject: { commonName: "old" },
      purposes: ["serverAuth"],
      hostnames: ["127.0.0.1"],
      key,
      now,
      validityMs: dayMs,
    });
    const tls = { certificatePem, privateKeyPem: exportKey(key), caPem: authority.certificatePem };
    const listen = { host: "127.0.0.1", port: 0, tls };
    const old = await startSimulatedCluster({ name: "old", nodes: 0, listen });
    t.after(() => old.close());
    const { kubeconfig = "" } = old;
    await register(plane.client, "old", { kubeconfig });
    const reason = "CertificateExpired";
    const target = await untilCondition(plane.client, "old", { status: "False", reason });
    assert.match(messageOf(target), /renew the cluster's serving certificate/);
    await untilEvent(plane.client, "old", reason);
  });

  it("an expired client certificate is found before anybody is asked", async (t) => {
    const plane = await startControlPlaneWithClusters(t);
    const east = await startPhysicalCluster(t, { name: "east" });
    const now = systemClock.now() - 40 * dayMs;
    const authority = createCertificateAuthority({ commonName: "users", now });
    const key = generateKey();
    const { certificatePem } = issueCertificate({
      authority,
      subject: { commonName: "admin" },
      purposes: ["clientAuth"],
      key,
      now,
      validityMs: dayMs,
    });
    const base64 = (text: string) => Buffer.from(text).toString("base64");
    const user = `"client-certificate-data": "${base64(certificatePem)}", "client-key-data": "${base64(exportKey(key))}"`;
    const kubeconfig = east.kubeconfig.replace(/"token": "[^"]+"/, user);
    await register(plane.client, "east", { kubeconfig });
    const reason = "CertificateExpired";
    const target = await untilCondition(plane.client, "east", { status: "False", reason });
    assert.match(messageOf(target), /client certificate in the kubeconfig is good until .* only/);
    await untilEvent(plane.client, "east", reason);
  });

  it("a clock that differs makes it no less ready, and is said", async (t) => {
    const aheadMs = 7_200_000;
    const clock: Clock = {
      now: () => systemClock.now() + aheadMs,
      monotonic: () => systemClock.monotonic(),
      schedule: (delayMs, callback) => systemClock.schedule(delayMs, callback),
    };
    const plane = await startTestControlPlane({ clock, physicalClusters: fastProbes });
    t.after(() => plane.close());
    const east = await startPhysicalCluster(t, { name: "east" });
    await register(plane.client, "east", { kubeconfig: east.kubeconfig });
    const target = await untilCondition(plane.client, "east", { status: "True" });
    const wanted =
      /its clock is about 2 hours behind the control plane's: set both by the same time/;
    assert.match(messageOf(target, "HeartbeatHealthy"), wanted);
    assert.match(await untilEvent(plane.client, "east", "ClockSkew"), wanted);
  });

  it("two control planes that register the same cluster each report the other, and both keep working", async (t) => {
    const east = await startPhysicalCluster(t, { name: "east" });
    const planes = [await working(t, east.kubeconfig), await working(t, east.kubeconfig)];
    for (const [at, { client, uid }] of planes.entries()) {
      const other = planes[1 - at]?.uid ?? "";
      const wanted = { type: "SharedOwnership", status: "True", reason: "OtherSyncTargets" };
      const target = await untilCondition(client, "east", wanted);
      const message = messageOf(target, "SharedOwnership");
      assert.ok(message.includes(`SyncTarget east (uid ${other})`), message);
      assert.ok(!message.includes(uid));
      assert.match(
        message,
        /^also registered as .*capacity is counted twice. If one of them .*, delete that SyncTarget/,
      );
      await untilCondition(client, "east", { status: "True" });
      await untilEvent(client, "east", "OtherSyncTargets");
      await eventually(async () => {
        const web = await client.resource(deployments).get({ namespace: "default", name: "web" });
        assert.equal((web as { status?: { readyReplicas?: number } }).status?.readyReplicas, 2);
      });
    }
  });
});

describe("a cluster that is registered twice in one control plane", () => {
  it("is said on both SyncTargets, and its capacity is counted once", async (t) => {
    const { client } = await startControlPlaneWithClusters(t);
    const east = await startPhysicalCluster(t, { name: "east", nodes: 1 });
    const resources = ["deployments.apps", "pods"];
    for (const name of ["east", "again"])
      await register(client, name, { kubeconfig: east.kubeconfig, resources });
    for (const [name, other] of [
      ["east", "again"],
      ["again", "east"],
    ] as const) {
      const wanted = { type: "SharedOwnership", status: "True" };
      const target = await untilCondition(client, name, wanted);
      assert.match(
        messageOf(target, "SharedOwnership"),
        new RegExp(`^also registered as SyncTarget ${other}; the capacity is divided among them`),
      );
      assert.equal(target.status?.registrations, 2);
      await untilCondition(client, name, { status: "True" });
    }
    const { status } = await client.resource(syncTargets).get({ name: "east" });
    const cpus = Number(status?.allocatable?.["cpu"]);
    assert.ok(cpus > 0);
    const requests = { cpu: "1" };
    const web = deployment("web", {
      containers: [{ name: "web", image: "a", resources: { requests } }],
    });
    await client
      .resource(deployments)
      .create({ ...web, spec: { ...web.spec, replicas: 2 * cpus } } as never);
    const assigned = async () => {
      const { items } = await client.resource(deployments).list({});
      const parts = items.filter(({ metadata }) => metadata.name !== "web");
      return parts.reduce((sum, { spec }) => sum + (spec?.replicas ?? 0), 0);
    };
    await eventually(async () => assert.equal(await assigned(), cpus));
    await client.resource(deployments).delete({ namespace: "default", name: "web" });
    await client.resource(syncTargets).delete({ name: "again" });
    // Namespaces of the deleted SyncTarget may still be in the cluster; the condition of the other
    // SyncTarget is reported until they are deleted.
    await eventually(async () => {
      const left = await client.resource(syncTargets).get({ name: "east" });
      assert.equal(left.status?.registrations, undefined);
    });
  });
});

/** A control plane with a Deployment in the cluster. */
async function working(t: TestContext, kubeconfig: string) {
  const { client } = await startControlPlaneWithClusters(t);
  const { metadata } = await register(client, "east", { kubeconfig });
  const available = { compatible: "True", available: "True" };
  await untilImport(client, "deployments.east.v1.apps", available);
  const { metadata: named, ...rest } = deployment("web");
  const labels = { app: "web", [clusterLabel]: "east" };
  await client.resource(deployments).create({ ...rest, metadata: { ...named, labels } });
  return { client, uid: metadata.uid ?? "" };
}
