/**
 * Goal: what a workspace and those below it contain is saved by one command, and is created again
 * under another path by another one, with owners, definitions and bindings that lead to the new
 * place. Method: the commands as users run them, against a server.
 */
import assert from "node:assert/strict";
import { readFile, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, it } from "node:test";
import {
  type Client,
  connect,
  defineResource,
  type KubernetesObject,
  loadKubeconfig,
} from "@kcp-ts/sdk";
import {
  apiBindings,
  apiExports,
  apiResourceSchemas,
  configMaps,
  customResourceDefinitions,
  namespaces,
  secrets,
  workspaces,
} from "@kcp-ts/sdk/kinds";
import { eventually } from "@kcp-ts/testkit";
import { runKcp, startKcp, temporaryFolder } from "./kcp-process.ts";

interface Site extends KubernetesObject {
  readonly spec: { readonly host: string };
}
const sites = defineResource<Site>({
  ...{ group: "example.com", version: "v1", resource: "sites", kind: "Site", namespaced: true },
});
const schema = {
  type: "object",
  properties: { spec: { type: "object", properties: { host: { type: "string" } } } },
} as const;
const names = { plural: "sites", singular: "site", kind: "Site", listKind: "SiteList" };
const version = { name: "v1", served: true, storage: true };

/** A Secret with an owner, and a workspace below that exports an API to the one above. */
async function fill(client: (path: string) => Client): Promise<KubernetesObject> {
  await client("root")
    .resource(workspaces)
    .create({ metadata: { name: "team" } });
  const team = client("root:team");
  await team.resource(namespaces).create({ metadata: { name: "shop" } });
  const owner = await team
    .resource(configMaps)
    .create({ metadata: { namespace: "shop", name: "owner" }, data: { a: "1" } });
  const ownerReferences = [
    { apiVersion: "v1", kind: "ConfigMap", name: "owner", uid: owner.metadata.uid ?? "" },
  ];
  await team
    .resource(secrets)
    .create({
      metadata: { namespace: "shop", name: "owned", ownerReferences },
      stringData: { password: "canary" },
    });
  await team.resource(workspaces).create({ metadata: { name: "api" } });
  const api = client("root:team:api");
  await api
    .resource(apiResourceSchemas)
    .create({
      metadata: { name: "today.sites.example.com" },
      spec: {
        ...{ group: "example.com", names, scope: "Namespaced" },
        versions: [{ ...version, schema }],
      },
    } as never);
  await api
    .resource(apiExports)
    .create({
      metadata: { name: "example.com" },
      spec: {
        resources: [
          {
            ...{ group: "example.com", name: "sites", schema: "today.sites.example.com" },
            storage: { crd: {} },
          },
        ],
      },
    } as never);
  await team
    .resource(apiBindings)
    .create({
      metadata: { name: "sites" },
      spec: { reference: { export: { path: "root:team:api", name: "example.com" } } },
    } as never);
  await eventually(() =>
    team
      .resource(sites)
      .create({ metadata: { namespace: "shop", name: "one" }, spec: { host: "a.example" } }),
  );
  await client("root:team:api")
    .resource(customResourceDefinitions)
    .create({
      metadata: { name: "wheels.example.org" },
      spec: {
        group: "example.org",
        scope: "Namespaced",
        names: { plural: "wheels", singular: "wheel", kind: "Wheel", listKind: "WheelList" },
        versions: [{ ...version, schema: { openAPIV3Schema: schema } }],
      },
    } as never);
  return owner;
}

describe("kcp backup --workspace", () => {
  it("saves a workspace with those below it, and kcp restore creates it under another path", async (t) => {
    const folder = await temporaryFolder(t);
    const root = join(folder, "server");
    const server = await startKcp(root);
    t.after(() => server.kill());
    const connection = connect(await loadKubeconfig({ path: server.kubeconfig }));
    t.after(() => connection.close());
    const client = (path: string) => connection.client.withBasePath("").inCluster(path);

    const owner = await fill(client);
    const file = join(folder, "team.backup");
    const at = ["--root-directory", root];
    const saved = await runKcp("backup", "--workspace", "root:team", "--out", file, ...at);
    assert.equal(saved.code, 0, saved.stderr);
    assert.equal((await stat(file)).mode & 0o777, 0o600, "it has Secrets");
    const restored = await runKcp("restore", "--workspace", "root:other", "--from", file, ...at);
    assert.equal(restored.code, 0, restored.stderr);

    const other = client("root:other");
    const copied = await other.resource(secrets).get({ namespace: "shop", name: "owned" });
    assert.equal(copied.data?.["password"], Buffer.from("canary").toString("base64"));
    const newOwner = await other.resource(configMaps).get({ namespace: "shop", name: "owner" });
    assert.notEqual(newOwner.metadata.uid, owner.metadata.uid);
    assert.equal(copied.metadata.ownerReferences?.[0]?.uid, newOwner.metadata.uid);
    const site = await other.resource(sites).get({ namespace: "shop", name: "one" });
    assert.equal(site.spec.host, "a.example");
    const binding = (await other.resource(apiBindings).get({ name: "sites" })) as unknown as {
      spec: { reference: { export: { path: string } } };
    };
    assert.equal(binding.spec.reference.export.path, "root:other:api", "the export of the copy");
    await client("root:other:api")
      .resource(customResourceDefinitions)
      .get({ name: "wheels.example.org" });

    const again = await runKcp("restore", "--workspace", "root:other", "--from", file, ...at);
    assert.equal(again.code, 0, again.stderr);
    assert.match(again.stderr, /restored 0 objects of root:team to root:other/);

    const text = await readFile(file, "utf8");
    await writeFile(file, text.slice(0, text.lastIndexOf('{"end"')));
    const cut = await runKcp("restore", "--workspace", "root:third", "--from", file, ...at);
    assert.equal(cut.code, 1);
    assert.match(cut.stderr, /is cut short/);
  });
});
