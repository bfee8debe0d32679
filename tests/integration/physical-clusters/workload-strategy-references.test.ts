/**
 * Goal: what objects of a custom kind refer to goes along with them, and their volumes are cared
 * for as those of any workload.
 */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { workloadStrategies } from "@kcp-ts/multicluster";
import {
  type Client,
  type DynamicObject,
  defineResource,
  type KubernetesObject,
} from "@kcp-ts/sdk";
import { configMaps, customResourceDefinitions as definitions, secrets } from "@kcp-ts/sdk/kinds";
import { eventually } from "./fixture.ts";
import { data, namespace, VolumeFixture } from "./volume-fixture.ts";

const databases = defineResource<KubernetesObject & { readonly spec: object }>({
  group: "example.com",
  version: "v1",
  resource: "databases",
  kind: "Database",
  namespaced: true,
});
const kinds = {
  configmaps: defineResource<DynamicObject>(configMaps),
  secrets: defineResource<DynamicObject>(secrets),
};

const anything = { type: "object", "x-kubernetes-preserve-unknown-fields": true };
const definition = {
  metadata: { name: "databases.example.com" },
  spec: {
    group: "example.com",
    scope: "Namespaced",
    names: {
      plural: "databases",
      singular: "database",
      kind: "Database",
      listKind: "DatabaseList",
    },
    versions: [
      {
        name: "v1",
        served: true,
        storage: true,
        subresources: { status: {} },
        schema: {
          openAPIV3Schema: { type: "object", properties: { spec: anything, status: anything } },
        },
      },
    ],
  },
};

const strategy = {
  group: "example.com",
  version: "v1",
  resource: "databases",
  kind: "Database",
  strategy: "Single",
  available: "1",
  observed: "true",
  podTemplatePath: "spec.pods",
  references: '["secrets/" + self.spec.password]',
} as const;

const template = {
  spec: {
    containers: [{ name: "db", image: "db:1", envFrom: [{ configMapRef: { name: "settings" } }] }],
    volumes: [{ name: "data", persistentVolumeClaim: { claimName: "data" } }],
  },
};

describe("a custom kind whose strategy says what it refers to", () => {
  it("has its configuration and its claim in its cluster, and takes them along", async (t) => {
    const all = ["databases.example.com", "configmaps", "secrets"];
    const prepare = async (client: Client) => {
      await client.resource(definitions).create(definition as never);
    };
    const stage = await VolumeFixture.start(t, all, {}, { prepare });
    const strategies = stage.client.resource(workloadStrategies);
    await strategies.create({ metadata: { name: "databases" }, spec: strategy });
    await stage.client
      .resource(kinds.configmaps)
      .create({ metadata: { namespace, name: "settings" }, data: { a: "1" } } as never);
    await stage.client
      .resource(kinds.secrets)
      .create({ metadata: { namespace, name: "db-password" }, data: {} } as never);
    await stage.claimAlone(["ReadWriteOnce"], { "workload.kcp.io/volume-migration": "detach" });
    const db = {
      metadata: { namespace, name: "db" },
      spec: { password: "db-password", pods: template },
    };
    await eventually(() => stage.client.resource(databases).create(db as never));

    /** By cluster: what is there of all this. */
    const found = async () => {
      const there: Record<string, readonly string[]> = {};
      for (const [name, { client }] of stage.clusters) {
        const names: string[] = [];
        for (const kind of [databases, kinds.configmaps, kinds.secrets]) {
          const { items } = await client.resource(kind as typeof databases).list({});
          const ours = items.filter((one) => one.metadata.namespace?.startsWith("kcp-"));
          names.push(...ours.map((one) => one.metadata.name));
        }
        const wanted = ["db--east", "db--west", "settings", "db-password"];
        there[name] = names.filter((one) => wanted.includes(one)).sort();
      }
      return there;
    };
    const home = await eventually(async () => {
      const { annotations } = (await stage.claim()).metadata;
      const name = annotations?.["workload.kcp.io/volume-cluster"] ?? assert.fail();
      const complete = [`db--${name}`, "db-password", "settings"].sort();
      const other = name === "east" ? "west" : "east";
      assert.deepEqual(await found(), { [name]: complete, [other]: [] });
      return name;
    });
    const other = home === "east" ? "west" : "east";
    const [handle = ""] = (await stage.handles())[home] ?? [];
    assert.match(handle, /^pvc-/);

    await stage.empty(home);
    await eventually(async () => {
      const complete = [`db--${other}`, "db-password", "settings"].sort();
      assert.deepEqual(await found(), { [home]: [], [other]: complete });
      assert.deepEqual(await stage.handles(), { [home]: [], [other]: [handle] });
    });
    assert.equal((await stage.claim()).metadata.name, data.name);
    assert.deepEqual(stage.attachedTwice, []);
  });
});
