/**
 * Goal: after `kcp migrate-storage` no object needs an old version of its definition: the version
 * can be removed, which the server refuses before.
 */
import assert from "node:assert/strict";
import { join } from "node:path";
import { describe, it } from "node:test";
import { connect, defineResource, type KubernetesObject, loadKubeconfig } from "@kcp-ts/sdk";
import { customResourceDefinitions } from "@kcp-ts/sdk/kinds";
import { eventually } from "@kcp-ts/testkit";
import { runKcp, startKcp, temporaryFolder } from "./kcp-process.ts";

interface Wheel extends KubernetesObject {
  readonly spec: { readonly inches: number };
}
const wheels = (version: string) =>
  defineResource<Wheel>({
    ...{ group: "example.org", version, resource: "wheels", kind: "Wheel", namespaced: true },
  });
const versionOf = (name: string, storage: boolean) => ({
  ...{ name, storage, served: true },
  schema: {
    openAPIV3Schema: {
      type: "object",
      properties: { spec: { type: "object", properties: { inches: { type: "integer" } } } },
    },
  },
});
const name = "wheels.example.org";

describe("kcp migrate-storage", () => {
  it("stores all objects in the storage version, after which the old version can be removed", async (t) => {
    const root = join(await temporaryFolder(t), "server");
    const server = await startKcp(root);
    t.after(() => server.kill());
    const { client, close } = connect(await loadKubeconfig({ path: server.kubeconfig }));
    t.after(close);
    const definitions = client.resource(customResourceDefinitions);
    await definitions.create({
      metadata: { name },
      spec: {
        ...{ group: "example.org", scope: "Namespaced" },
        names: { plural: "wheels", singular: "wheel", kind: "Wheel", listKind: "WheelList" },
        versions: [versionOf("v1", true)],
      },
    } as never);
    const create = (version: string, wheel: string, inches: number) =>
      client
        .resource(wheels(version))
        .create({ metadata: { namespace: "default", name: wheel }, spec: { inches } });
    await eventually(() => create("v1", "first", 20));
    for (let i = 0; i < 20; i++) await create("v1", `more-${i}`, i);
    const setVersions = (...versions: readonly object[]) =>
      definitions.patch({ name }, { type: "merge", patch: { spec: { versions } } as never });
    await setVersions(versionOf("v1", false), versionOf("v2", true));
    await eventually(() => create("v2", "second", 26));
    await assert.rejects(setVersions(versionOf("v2", true)), /storedVersions/);

    const at = ["--root-directory", root];
    const done = await runKcp("migrate-storage", ...at);
    assert.equal(done.code, 0, done.stderr);
    assert.equal(done.stdout, `${name}: 22 objects are stored as v2\n`);
    const { status } = await definitions.get({ name });
    assert.deepEqual(status?.storedVersions, ["v2"]);
    await setVersions(versionOf("v2", true));
    const first = await eventually(() =>
      client.resource(wheels("v2")).get({ namespace: "default", name: "first" }),
    );
    assert.deepEqual([first.apiVersion, first.spec.inches], ["example.org/v2", 20]);
    const again = await runKcp("migrate-storage", name, ...at);
    assert.equal(again.stdout, `${name}: nothing to migrate\n`);
  });
});
