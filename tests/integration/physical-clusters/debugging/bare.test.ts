/**
 * Goal: a Pod that a tenant created here is debugged like any other, under its own name and under
 * that of its per-cluster object, in Push and in Pull mode; and a Job leads to its own Pods.
 *
 * Method: two workspaces use one cluster of a third, each with a bare Pod and a Job of the same
 * names, whose logs contain a secret marker.
 */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { stateLabel, stateSync } from "@kcp-ts/multicluster";
import type { Client, DynamicObject } from "@kcp-ts/sdk";
import { jobs } from "@kcp-ts/sdk/kinds";
import { eventually } from "../fixture.ts";
import { sharedNameOf } from "../tenants.ts";
import { debug, exec, log, podPath, pods, topPods } from "./fixture.ts";
import {
  grant,
  modes,
  startTenantsFixture,
  type TenantsFixture,
  tenants,
  usage,
} from "./tenants-fixture.ts";

const part = `bare--${sharedNameOf("compute", "east").replaceAll(".", "-")}`;
const at = { namespace: "default", name: "bare" };

function bare(tenant: (typeof tenants)[number]) {
  const annotations = {
    "sim.kcp.io/log": `bare treasure of ${tenant}`,
    "sim.kcp.io/usage": `cpu=${usage[tenant]}`,
  };
  return {
    metadata: { ...at, labels: { run: "bare" }, annotations },
    spec: { containers: [{ name: "main", image: "busybox:1.37" }] },
  };
}

function job(name: string, said: string): DynamicObject {
  const spec = { restartPolicy: "Never", containers: [{ name: "main", image: "busybox:1.37" }] };
  const template = { metadata: { annotations: { "sim.kcp.io/log": said } }, spec };
  return { metadata: { name, namespace: "default" }, spec: { template } } as never;
}

async function untilRunning(client: Client): Promise<void> {
  await eventually(async () => {
    const { status } = await client.resource(pods).get(at);
    assert.equal(status?.phase, "Running");
  });
}

for (const mode of modes) {
  describe(`a bare Pod in ${mode} mode`, () => {
    let stage: TenantsFixture;
    const ending: (() => unknown)[] = [];
    before(async () => {
      stage = await startTenantsFixture({ after: (end) => void ending.push(end as never) }, mode);
      for (const tenant of tenants) {
        const client = stage.plane.clientFor(tenant);
        await client.resource(pods).create(bare(tenant));
        await untilRunning(client);
      }
    });
    after(async () => {
      for (const end of ending.reverse()) await end();
    });

    it("has a log and runs commands, by its name and by that of its part", async () => {
      for (const tenant of tenants) {
        const client = await stage.physicalClient(tenant);
        for (const name of ["bare", part]) {
          const said = await log(client, podPath(name));
          assert.deepEqual([said.status, said.text.trim()], [200, `bare treasure of ${tenant}`]);
          const { status, text } = await exec(client, podPath(name));
          assert.deepEqual([status, text.trim()], [101, part]);
        }
      }
    });

    it("says what it uses, once", async () => {
      for (const tenant of tenants) {
        const client = await stage.physicalClient(tenant);
        const used = (name: string) => [`${name}: main cpu=${usage[tenant]} memory=8Mi`];
        await eventually(async () => {
          assert.deepEqual((await topPods(client, "/bare")).pods, used("bare"));
          assert.deepEqual((await topPods(client, `/${part}`)).pods, used(part));
          assert.deepEqual((await topPods(client, "?labelSelector=run%3Dbare")).pods, used("bare"));
        });
      }
    });

    it("gets containers to look with, which are seen where it was made", async () => {
      const client = await stage.physicalClient("one");
      const { status, containers } = await debug(client, podPath("bare"), "look");
      assert.deepEqual([status, containers], [200, ["look"]]);
      await eventually(async () => {
        const pod = await client.resource(pods).get(at);
        const { ephemeralContainers = [] } = pod.spec as {
          ephemeralContainers?: readonly { readonly name: string }[];
        };
        assert.deepEqual(
          ephemeralContainers.map(({ name }) => name),
          ["look"],
        );
        assert.deepEqual(
          pod.status?.ephemeralContainerStatuses?.map(({ name }) => name),
          ["look"],
        );
      });
      const said = await log(client, podPath("bare"), "?container=look");
      assert.equal(said.status, 200);
      const other = await (await stage.physicalClient("two")).resource(pods).get(at);
      assert.equal((other.spec as { ephemeralContainers?: object }).ephemeralContainers, undefined);
    });

    it("is reached by users with the roles for it, and a label written on a Pod grants nothing", async () => {
      const { plane } = stage;
      await grant(plane, "one", `reader-${mode}`, [
        { nonResourceURLs: ["/"], verbs: ["access"] },
        { apiGroups: [""], resources: ["pods"], verbs: ["get", "list"] },
      ]);
      const path = podPath("bare");
      const user = { username: `reader-${mode}`, groups: [] };
      const reader = await stage.as("one", user);
      assert.equal((await log(reader, path)).status, 403);
      assert.equal((await exec(reader, path)).status, 403);
      const client = await stage.physicalClient("one");
      const forged = async (name: string, target: string) => {
        const metadata = { ...at, name, labels: { [stateLabel(target)]: stateSync } };
        await client.resource(pods).create({ ...bare("one"), metadata });
        const { status, text } = await log(client, podPath(name));
        assert.equal(status, 503, text);
      };
      await forged("lost", "nowhere");
      // What a workspace calls its own is not what another calls so.
      await forged("elsewhere", "east");
    });
  });

  describe(`a Job in ${mode} mode`, () => {
    it("has a selector for exactly the copies of its Pods", async (t) => {
      const stage = await startTenantsFixture(t, mode);
      const client = await stage.physicalClient("one");
      await eventually(() => client.resource(jobs).list({ namespace: "default" }));
      for (const name of ["sum", "other"])
        await client.resource(jobs).create(job(name, `said by ${name}`));
      for (const name of ["sum", "other"]) {
        const { spec, metadata } = await client.resource(jobs).get({ namespace: "default", name });
        const { selector } = spec as { selector?: { matchLabels?: Record<string, string> } };
        assert.deepEqual(selector, {
          matchLabels: { "batch.kubernetes.io/controller-uid": metadata.uid },
        });
        await eventually(async () => {
          for (const labelSelector of [
            `batch.kubernetes.io/controller-uid=${metadata.uid}`,
            `job-name=${name}`,
          ]) {
            const { items } = await client.resource(pods).list({ labelSelector });
            assert.equal(items.length, 1, labelSelector);
            const said = await log(client, podPath(items[0]?.metadata.name ?? ""));
            assert.deepEqual([said.status, said.text.trim()], [200, `said by ${name}`]);
          }
        });
      }
    });
  });
}
