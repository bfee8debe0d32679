import assert from "node:assert/strict";
import { describe, it, type TestContext } from "node:test";
import { type AdmissionPlugin, simpleResource } from "@kcp-ts/apiserver";
import { list, message, objectMeta, string } from "@kcp-ts/machinery/shape";
import { fieldError, isStatusError } from "@kcp-ts/machinery/status";
import { defineResource, discover, type KubernetesObject } from "@kcp-ts/sdk";
import { startTestControlPlane, type TestControlPlaneOptions } from "./internal.ts";

interface Widget extends KubernetesObject {
  readonly spec?: { readonly color?: string; readonly tags?: readonly string[] };
  readonly status?: { readonly phase?: string };
}

const widgets = defineResource<Widget>({
  group: "example.com",
  version: "v1",
  resource: "widgets",
  kind: "Widget",
  namespaced: true,
});

const widgetType = simpleResource({
  group: "example.com",
  version: "v1",
  kind: "Widget",
  shortNames: ["wd"],
  hasStatus: true,
  shape: message("com.example.v1.Widget", {
    metadata: [1, objectMeta],
    spec: [
      2,
      message("com.example.v1.WidgetSpec", { color: [1, string], tags: [2, list(string)] }),
    ],
    status: [3, message("com.example.v1.WidgetStatus", { phase: [1, string] })],
  }),
  setDefaults: (draft) => {
    draft["spec"] = { color: "grey", ...(draft["spec"] as object) };
  },
  validate: ({ spec }) =>
    (spec as Widget["spec"])?.color === "invisible"
      ? [fieldError.invalid("spec.color", "invisible", "cannot be seen")]
      : [],
  columns: [{ name: "Color", cell: ({ spec }) => (spec as Widget["spec"])?.color ?? "" }],
});

async function started(t: TestContext, options: TestControlPlaneOptions = {}) {
  const k = await startTestControlPlane({ resources: [widgetType], ...options });
  t.after(() => k.close());
  return { k, client: k.client.resource(widgets) };
}

const at = { namespace: "default", name: "a" };

describe("a custom built-in type of an embedder", () => {
  it("is discovered, stored, defaulted and printed in every logical cluster", async (t) => {
    const { k } = await started(t);
    const { groups } = await discover(k.clientFor("team-a"));
    assert.ok(groups.some(({ name }) => name === "example.com"));
    const client = k.clientFor("team-a").resource(widgets);
    const created = await client.create({ metadata: at });
    assert.deepEqual(created.spec, { color: "grey" });
    assert.equal(created.metadata.generation, 1);
    const table = await client.table();
    assert.deepEqual(
      table.columnDefinitions.map(({ name }) => name),
      ["Name", "Color", "Age"],
    );
    assert.deepEqual(table.rows[0]?.cells.slice(0, 2), ["a", "grey"]);
  });

  it("is validated by its own rules", async (t) => {
    const { client } = await started(t);
    await assert.rejects(
      client.create({ metadata: at, spec: { color: "invisible" } }),
      (error: unknown) => isStatusError(error, "Invalid"),
    );
  });

  it("has a status that only its own endpoint writes, without changing the generation", async (t) => {
    const { client } = await started(t);
    const created = await client.create({ metadata: at, status: { phase: "x" } });
    assert.equal(created.status, undefined);
    const status = { type: "merge", patch: { spec: { color: "red" }, status: { phase: "Ready" } } };
    const marked = await client.patchStatus(at, status as never);
    assert.deepEqual([marked.spec?.color, marked.status?.phase], ["grey", "Ready"]);
    assert.equal(marked.metadata.generation, 1);
    const painted = await client.patch(at, {
      type: "merge",
      patch: { spec: { color: "red" }, status: { phase: "Lost" } },
    });
    assert.deepEqual([painted.spec?.color, painted.status?.phase], ["red", "Ready"]);
    assert.equal(painted.metadata.generation, 2);
  });
});

describe("a mutating plug-in", () => {
  const plugin: AdmissionPlugin = {
    name: "Counter",
    mutate({ operation, resource }, draft) {
      if (resource !== "widgets") return;
      const spec = (draft["spec"] ?? {}) as { tags?: string[] };
      spec.tags ??= [];
      spec.tags.push(operation);
      draft["spec"] = spec;
    },
  };

  it("mutates objects on create, replace, patch and apply", async (t) => {
    const { client } = await started(t, { admissionPlugins: [plugin] });
    const created = await client.create({ metadata: at, spec: { color: "red" } });
    assert.deepEqual(created.spec, { color: "red", tags: ["CREATE"] });
    const patched = await client.patch(at, { type: "merge", patch: { spec: { color: "blue" } } });
    assert.deepEqual(patched.spec?.tags, ["CREATE", "UPDATE"]);
    const replaced = await client.update({ metadata: at, spec: { color: "green" } });
    assert.deepEqual(replaced.spec?.tags, ["UPDATE"]);
  });

  it("mutates an object once, however often the write is retried", async (t) => {
    const { client } = await started(t, { admissionPlugins: [plugin] });
    await client.create({ metadata: at });
    await Promise.all(
      Array.from({ length: 20 }, (_, n) =>
        client.patch(at, { type: "merge", patch: { metadata: { labels: { n: String(n) } } } }),
      ),
    );
    const { spec } = await client.get(at);
    assert.equal(spec?.tags?.length, 21);
  });

  it("cannot set fields that clients cannot set", async (t) => {
    const invisible: AdmissionPlugin = {
      name: "Invisible",
      mutate(_request, draft) {
        draft["spec"] = { color: "invisible" };
      },
    };
    const { client } = await started(t, { admissionPlugins: [invisible] });
    await assert.rejects(client.create({ metadata: at }), (error: unknown) =>
      isStatusError(error, "Invalid"),
    );
  });
});
