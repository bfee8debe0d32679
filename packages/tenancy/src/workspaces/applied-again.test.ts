/**
 * The owners of fields of kcp's kinds: a request that is sent again changes nothing, and fields
 * that the system sets have no manager.
 */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import type { AnyObject } from "@kcp-ts/apiserver/testing";
import type { JsonObject } from "@kcp-ts/machinery/json";
import { TestServer } from "../testing/index.ts";

const tenancy = "/clusters/root/apis/tenancy.kcp.io/v1alpha1";
const apis = "/clusters/root/apis/apis.kcp.io";
const topology = "/clusters/root/apis/topology.kcp.io/v1alpha1";
const schemaName = "today.cowboys.wildwest.dev";

interface Kind {
  readonly at: string;
  readonly apiVersion: string;
  readonly kind: string;
  readonly spec: JsonObject;
  /** Members of the spec with a default in the schema: these belong to the sender, too. */
  readonly defaulted?: readonly string[];
}

const kinds: Readonly<Record<string, Kind>> = {
  "a WorkspaceType": {
    at: `${tenancy}/workspacetypes`,
    apiVersion: "tenancy.kcp.io/v1alpha1",
    kind: "WorkspaceType",
    spec: { extend: { with: [{ name: "universal", path: "root" }] }, terminator: true },
    defaulted: ["defaultChildWorkspaceType"],
  },
  "a Workspace": {
    at: `${tenancy}/workspaces`,
    apiVersion: "tenancy.kcp.io/v1alpha1",
    kind: "Workspace",
    spec: { type: { name: "universal", path: "root" } },
  },
  "a Workspace whose type has no path": {
    at: `${tenancy}/workspaces`,
    apiVersion: "tenancy.kcp.io/v1alpha1",
    kind: "Workspace",
    spec: { type: { name: "universal" } },
  },
  "an APIExport": {
    at: `${apis}/v1alpha2/apiexports`,
    apiVersion: "apis.kcp.io/v1alpha2",
    kind: "APIExport",
    spec: {
      resources: [{ name: "cowboys", group: "wildwest.dev", schema: schemaName }],
      permissionClaims: [{ resource: "configmaps", verbs: ["*"] }],
    },
  },
  "an APIExport of the older version": {
    at: `${apis}/v1alpha1/apiexports`,
    apiVersion: "apis.kcp.io/v1alpha1",
    kind: "APIExport",
    spec: { latestResourceSchemas: [schemaName] },
  },
  "an APIBinding": {
    at: `${apis}/v1alpha2/apibindings`,
    apiVersion: "apis.kcp.io/v1alpha2",
    kind: "APIBinding",
    spec: {
      reference: { export: { path: "root", name: "tenancy.kcp.io" } },
      permissionClaims: [
        { resource: "configmaps", verbs: ["*"], selector: { matchAll: true }, state: "Accepted" },
      ],
    },
  },
  "a Partition": {
    at: `${topology}/partitions`,
    apiVersion: "topology.kcp.io/v1alpha1",
    kind: "Partition",
    spec: { selector: { matchLabels: { region: "europe" } } },
  },
};

describe("fields of", () => {
  let test: TestServer;
  before(async () => {
    test = await TestServer.start();
    await test.server.bootstrap("https://kcp.example.com");
    const names = { plural: "cowboys", singular: "cowboy", kind: "Cowboy", listKind: "CowboyList" };
    const version = { name: "v1", served: true, storage: true, schema: { type: "object" } };
    await test.requestOk("POST", `${apis}/v1alpha1/apiresourceschemas`, {
      user: "masters",
      body: {
        metadata: { name: schemaName },
        spec: { group: "wildwest.dev", names, scope: "Cluster", versions: [version] },
      },
    });
  });
  after(() => test.close());

  const apply = (path: string, body: object, manager = "gitops") =>
    test.patch(`${path}?fieldManager=${manager}`, "apply", body, { user: "masters" });
  const owned = ({ metadata }: AnyObject, manager: string) => {
    const entries = (metadata.managedFields ?? []) as unknown as {
      manager: string;
      fieldsV1: Record<string, unknown>;
    }[];
    return entries.find((one) => one.manager === manager)?.fieldsV1;
  };
  let count = 0;

  for (const [what, { at, apiVersion, kind, spec, defaulted = [] }] of Object.entries(kinds)) {
    const objectOf = (name: string) => ({ apiVersion, kind, metadata: { name }, spec });

    it(`${what} are its creator's as far as it sent them`, async () => {
      const name = `sent-${count++}`;
      const created = await test.requestOk("POST", `${at}?fieldManager=creator`, {
        user: "masters",
        body: objectOf(name),
      });
      const fields = owned(created, "creator");
      assert.deepEqual(Object.keys(fields ?? {}), ["f:spec"]);
      const sent = [...Object.keys(spec), ...defaulted].map((member) => `f:${member}`);
      const claimed = Object.keys(fields?.["f:spec"] as object).filter((one) => one !== ".");
      assert.deepEqual(claimed.sort(), sent.sort());
    });

    it(`${what} are applied as often as one likes`, async () => {
      const name = `applied-${count++}`;
      const path = `${at}/${name}`;
      const first = await apply(path, objectOf(name));
      assert.equal(first.status, 201, first.text);
      for (let time = 0; time < 3; time++) {
        await new Promise((resolve) => setImmediate(resolve));
        const again = await apply(path, objectOf(name));
        assert.equal(again.status, 200, again.text);
        assert.deepEqual(owned(again.object, "gitops"), owned(first.object, "gitops"));
      }
      const labelled = { ...objectOf(name), metadata: { name, labels: { team: "a" } } };
      assert.equal((await apply(path, labelled)).status, 200);
    });

    it(`${what} are applied after they were created, and the other way round`, async () => {
      const name = `mixed-${count++}`;
      const path = `${at}/${name}`;
      const options = { user: "masters", body: objectOf(name) } as const;
      await test.requestOk("POST", `${at}?fieldManager=creator`, options);
      const applied = await apply(path, objectOf(name));
      assert.equal(applied.status, 200, applied.text);
      // A controller wrote first: retried once.
      const update = async () => {
        const stored = await test.requestOk("GET", path, { user: "masters" });
        const body = { ...stored, metadata: { ...stored.metadata, labels: { team: "b" } } };
        return test.request("PUT", `${path}?fieldManager=creator`, { user: "masters", body });
      };
      let updated = await update();
      for (let tries = 0; updated.status === 409 && tries < 20; tries++) updated = await update();
      assert.equal(updated.status, 200, updated.text);
    });
  }

  it("a Workspace keep the path of its type as it was written, also when it names a cluster", async () => {
    const parent = await test.requestOk("POST", `${tenancy}/workspaces`, {
      user: "masters",
      body: { metadata: { name: "org" }, spec: { type: { name: "universal", path: "root" } } },
    });
    const { cluster } = parent["spec"] as { cluster: string };
    const inside = `/clusters/${cluster}/apis/tenancy.kcp.io/v1alpha1`;
    const body = { metadata: { name: "mine" }, spec: {} };
    await test.requestOk("POST", `${inside}/workspacetypes`, { user: "masters", body });
    for (const [index, path] of [cluster, "root:org"].entries()) {
      const name = `by-${index}`;
      const object = {
        apiVersion: "tenancy.kcp.io/v1alpha1",
        kind: "Workspace",
        metadata: { name },
        spec: { type: { name: "mine", path } },
      };
      for (let time = 0; time < 3; time++) {
        const applied = await apply(`${inside}/workspaces/${name}`, object);
        assert.equal(applied.status, time === 0 ? 201 : 200, applied.text);
        assert.equal((applied.object["spec"] as { type: { path: string } }).type.path, path);
      }
    }
  });
});
