/**
 * Conformance tests of Kubernetes for CustomResourceDefinitions and discovery, under the names that
 * they have there.
 */
import assert from "node:assert/strict";
import { after, before, beforeEach, describe, it } from "node:test";
import { startTestControlPlane, type TestControlPlane } from "@kcp-ts/testing/internal";
import { eventually } from "@kcp-ts/testkit";
import { Api, mergePatch } from "./api.ts";
import { definitionOf, versionOf } from "./definition.ts";

let plane: TestControlPlane;
let api: Api;
let clusters = 0;
before(async () => {
  plane = await startTestControlPlane({ physicalClusters: false });
});
after(() => plane.close());
beforeEach(() => {
  api = new Api(plane.client.transport, `/clusters/definitions${clusters++}`);
});

const path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const aggregated = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";

describe("conformance: custom resource definitions", () => {
  it("CustomResourceDefinition resources Simple CustomResourceDefinition creating/deleting custom resource definition objects works", async () => {
    const at = await api.install(definitionOf("widgets"));
    await api.expectSuccess("DELETE", at);
    await eventually(async () => assert.equal((await api.send("GET", at)).status, 404));
  });

  it("CustomResourceDefinition resources Simple CustomResourceDefinition listing custom resource definition objects works", async () => {
    const labels = { "conformance.example.com/list": "one" };
    const plurals = Array.from({ length: 10 }, (_, index) => `widget${index}s`);
    for (const plural of plurals) {
      const { metadata, ...rest } = definitionOf(plural);
      await api.install({ ...rest, metadata: { ...metadata, labels } });
    }
    await api.install(definitionOf("others"));
    const selected = `${path}?labelSelector=conformance.example.com%2Flist%3Done`;
    assert.equal((await api.names(selected)).length, 10);
    await api.expectSuccess("DELETE", selected);
    await eventually(async () => assert.deepEqual(await api.names(selected), []));
    assert.deepEqual(await api.names(path), ["others.example.com"]);
  });

  it("CustomResourceDefinition resources Simple CustomResourceDefinition getting/updating/patching custom resource definition status sub-resource works", async () => {
    const at = await api.install(definitionOf("widgets"));
    const read = await api.expectSuccess("GET", `${at}/status`);
    const added = { type: "StatusUpdate", status: "True", reason: "E2E", message: "set by a test" };
    const put = await api.expectSuccess("PUT", `${at}/status`, {
      ...read,
      status: { ...read["status"], conditions: [...read["status"].conditions, added] },
    });
    const types = (object: typeof read): readonly string[] =>
      object["status"].conditions.map(({ type }: { type: string }) => type);
    assert.ok(types(put).includes("StatusUpdate"));
    const conditions = [...put["status"].conditions, { ...added, type: "StatusPatch" }];
    const patched = await api.expectSuccess(
      "PATCH",
      `${at}/status`,
      { status: { conditions } },
      mergePatch,
    );
    assert.ok(types(patched).includes("StatusPatch") && types(patched).includes("StatusUpdate"));
  });

  it("CustomResourceDefinition resources custom resource defaulting for requests and from storage works", async () => {
    const properties = { a: { type: "string", default: "A" }, b: { type: "string" } };
    const schema = { type: "object", properties };
    const at = await api.install(
      definitionOf("widgets", { versions: [versionOf("v1", { schema })] }),
    );
    const widgets = "/apis/example.com/v1/namespaces/default/widgets";
    await api.expectSuccess("POST", widgets, { metadata: { name: "a" } });
    assert.equal((await api.expectSuccess("GET", `${widgets}/a`))["a"], "A");
    const later = { ...properties, a: { type: "string" }, b: { type: "string", default: "B" } };
    await api.expectSuccess(
      "PATCH",
      at,
      [{ op: "replace", path: "/spec/versions/0/schema/openAPIV3Schema/properties", value: later }],
      "application/json-patch+json",
    );
    await eventually(async () => {
      const { a, b } = await api.expectSuccess("GET", `${widgets}/a`);
      assert.deepEqual([a, b], ["A", "B"]);
    });
  });

  it("CustomResourceDefinition resources should include custom resource definition resources in discovery documents", async () => {
    const group = "apiextensions.k8s.io";
    const { groups } = await api.expectSuccess("GET", "/apis");
    const found = (groups as readonly { name: string; versions: readonly object[] }[]).find(
      ({ name }) => name === group,
    );
    assert.deepEqual(found?.versions, [{ groupVersion: `${group}/v1`, version: "v1" }]);
    assert.deepEqual(
      (await api.expectSuccess("GET", `/apis/${group}`))["versions"],
      found?.versions,
    );
    const { resources } = await api.expectSuccess("GET", `/apis/${group}/v1`);
    const names = (resources as readonly { name: string }[]).map(({ name }) => name);
    assert.ok(names.includes("customresourcedefinitions"));
  });

  it("CustomResourceDefinition Watch CustomResourceDefinition Watch watch on custom resource definition objects", async () => {
    await api.install(definitionOf("widgets", { scope: "Cluster" }));
    const widgets = "/apis/example.com/v1/widgets";
    const watch = await api.watch(widgets);
    for (const name of ["a", "b"]) {
      await api.expectSuccess("POST", widgets, { metadata: { name } });
      assert.deepEqual(await nameOf(watch), ["ADDED", name]);
    }
    for (const name of ["a", "b"]) {
      await api.merge(`${widgets}/${name}`, { spec: { changed: true } });
      assert.deepEqual(await nameOf(watch), ["MODIFIED", name]);
    }
    for (const name of ["a", "b"]) {
      await api.expectSuccess("DELETE", `${widgets}/${name}`);
      assert.deepEqual(await nameOf(watch), ["DELETED", name]);
    }
    watch.close();
  });
});

async function nameOf(watch: Awaited<ReturnType<Api["watch"]>>): Promise<readonly string[]> {
  const { type, object } = await watch.next();
  return [type, object.metadata.name];
}

interface DiscoveredGroup {
  readonly metadata: { readonly name: string };
  readonly versions: readonly {
    readonly version: string;
    readonly resources: readonly {
      readonly resource: string;
      readonly scope: string;
      readonly responseKind: { readonly kind: string };
    }[];
  }[];
}

async function aggregatedGroups(accept: string): Promise<readonly DiscoveredGroup[]> {
  const { object, headers } = await api.send("GET", "/apis", undefined, "", { accept });
  assert.equal(headers.get("content-type"), aggregated);
  return (object.items ?? []) as unknown as readonly DiscoveredGroup[];
}

describe("conformance: discovery", () => {
  for (const [title, accept] of [
    ["AggregatedDiscovery should support aggregated discovery interface for CRDs", aggregated],
    [
      "AggregatedDiscovery should support raw aggregated discovery request for CRDs",
      `${aggregated},application/json`,
    ],
  ] as const) {
    it(title, async () => {
      await api.install(definitionOf("widgets"));
      const groups = await aggregatedGroups(accept);
      const group = groups.find(({ metadata }) => metadata.name === "example.com");
      const [version] = group?.versions ?? [];
      assert.equal(version?.version, "v1");
      const [resource] = version?.resources ?? [];
      assert.deepEqual(
        [resource?.resource, resource?.scope, resource?.responseKind.kind],
        ["widgets", "Namespaced", "Widget"],
      );
    });
  }

  for (const title of [
    "AggregatedDiscovery should support aggregated discovery interface",
    "AggregatedDiscovery should support raw aggregated discovery endpoint Accept headers",
  ]) {
    it(title, async () => {
      const groups = await aggregatedGroups(`${aggregated},application/json`);
      for (const [group, resource] of [
        ["admissionregistration.k8s.io", "validatingwebhookconfigurations"],
        ["apiextensions.k8s.io", "customresourcedefinitions"],
        ["rbac.authorization.k8s.io", "clusterroles"],
      ]) {
        const found = groups.find(({ metadata }) => metadata.name === group);
        const resources = found?.versions.flatMap((version) => version.resources) ?? [];
        assert.ok(
          resources.some((each) => each.resource === resource),
          resource,
        );
      }
      const unaggregated = await api.send("GET", "/apis", undefined, "", {
        accept: "application/json",
      });
      assert.equal(unaggregated.object["kind"], "APIGroupList");
    });
  }

  it("Discovery should validate PreferredVersion for each APIGroup", async () => {
    await api.install(
      definitionOf("widgets", { versions: [versionOf("v1"), versionOf("v2beta1")] }),
    );
    const { groups } = await api.expectSuccess("GET", "/apis");
    for (const group of groups as readonly Group[]) {
      const own = (await api.expectSuccess("GET", `/apis/${group.name}`)) as unknown as Group;
      assert.deepEqual(own.preferredVersion, group.preferredVersion);
      assert.ok(
        own.versions.some(({ groupVersion }) => groupVersion === own.preferredVersion.groupVersion),
      );
    }
  });

  it("Discovery should locate the groupVersion and a resource within each APIGroup", async () => {
    await api.install(definitionOf("widgets"));
    const { groups } = await api.expectSuccess("GET", "/apis");
    for (const { name, versions } of groups as readonly Group[]) {
      for (const { groupVersion } of versions) {
        const { resources } = await api.expectSuccess("GET", `/apis/${groupVersion}`);
        assert.ok(resources.length > 0, `${name} has no resources in ${groupVersion}`);
      }
    }
  });

  it("server version should find the server version", async () => {
    const version = await api.expectSuccess("GET", "/version");
    assert.match(String(version["major"]), /^\d+$/);
    assert.match(String(version["minor"]), /^\d+\+?$/);
    assert.match(String(version["gitVersion"]), /^v\d+\.\d+\.\d+/);
  });

  it("Servers with support for Table transformation should return a 406 for a backend which does not implement metadata", async () => {
    const reply = await api.send(
      "POST",
      "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews",
      { spec: { resourceAttributes: { verb: "get", resource: "configmaps" } } },
      "application/json",
      { accept: "application/json;as=Table;v=v1;g=meta.k8s.io" },
    );
    assert.equal(reply.status, 406);
    assert.equal(reply.object["code"], 406);
  });
});

interface Group {
  readonly name: string;
  readonly preferredVersion: { readonly groupVersion: string };
  readonly versions: readonly { readonly groupVersion: string }[];
}
