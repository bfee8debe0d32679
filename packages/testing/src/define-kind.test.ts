/** Own kinds from TypeScript: the server enforces what the compiler knows, and what it cannot. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { isStatusError } from "@kcp-ts/machinery/status";
import { setCondition } from "@kcp-ts/sdk";
import {
  type APIExport,
  apiBindings,
  apiExports,
  apiResourceSchemas,
  configMaps,
} from "@kcp-ts/sdk/kinds";
import {
  conditions,
  defineKind,
  exportKinds,
  int32,
  type KindDefinition,
  type KindObject,
  list,
  object,
  string,
} from "@kcp-ts/sdk/schema";
import { eventually } from "@kcp-ts/testkit";
import { startTestControlPlane } from "./test-control-plane.ts";

const kindOptions = {
  group: "example.com",
  version: "v1",
  kind: "Autoscaler",
  spec: object(
    {
      min: int32("Never fewer.", { minimum: 0, default: 1 }),
      max: int32("Never more."),
      mode: string("How.", { enum: ["fast", "slow"] }),
      targets: list(string(), { maxItems: 4 }),
    },
    { required: ["max"] },
  ),
  status: object({ replicas: int32(), conditions: conditions() }),
  rules: [["self.spec.min <= self.spec.max", "min is beyond max"]],
} as const;
const autoscalers = defineKind(kindOptions);
type Autoscaler = KindObject<typeof autoscalers>;

const at = { name: "web", namespace: "default" };

describe("defineKind", () => {
  it("gives a type, a resource and a definition that a server serves", async () => {
    const k = await startTestControlPlane({ crds: [autoscalers.definition] });
    const client = k.client.resource(autoscalers);
    const created: Autoscaler = await client.create({
      metadata: at,
      spec: { max: 3, mode: "fast" },
    });
    assert.deepEqual(created.spec, { max: 3, min: 1, mode: "fast" });
    const mode: "fast" | "slow" | undefined = created.spec.mode;
    assert.equal(mode, "fast");
    const next = setCondition(created.status?.conditions, {
      type: "Ready",
      status: "True",
      reason: "Scaled",
      message: "",
      observedGeneration: created.metadata.generation,
    });
    const updated = await client.setStatus(created, { replicas: 2, conditions: next });
    assert.equal(updated.status?.conditions?.[0]?.observedGeneration, 1);
    const same = await client.setStatus(updated, { replicas: 2, conditions: next });
    assert.equal(same, updated);
    const less = await client.setStatus(updated, { conditions: next });
    assert.equal(less.status?.replicas, undefined);
    await k.close();
  });

  it("has rules that the server enforces", async () => {
    const k = await startTestControlPlane({ crds: [autoscalers.definition] });
    const client = k.client.resource(autoscalers);
    await assert.rejects(
      client.create({ metadata: at, spec: { min: 5, max: 3 } }),
      (error: unknown) =>
        isStatusError(error, "Invalid") && /min is beyond max/.test(error.message),
    );
    // @ts-expect-error: the compiler knows the members and their values.
    await assert.rejects(client.create({ metadata: at, spec: { max: 3, mode: "odd" } }), /odd/);
    await k.close();
  });

  it("refuses the status of another object of the same name", async () => {
    const k = await startTestControlPlane({ crds: [autoscalers.definition] });
    const client = k.client.resource(autoscalers);
    const first = await client.create({ metadata: at, spec: { max: 3 } });
    await client.delete(at);
    await client.create({ metadata: at, spec: { max: 3 } });
    await assert.rejects(
      client.setStatus(first, { replicas: 1 }),
      (error: unknown) => isStatusError(error, "Invalid") && /metadata.uid/.test(error.message),
    );
    await k.close();
  });
});

describe("exportKinds", () => {
  it("offers own kinds to those who bind them, and a changed kind under another schema", async () => {
    const k = await startTestControlPlane();
    const provider = k.clientFor("provider");
    const put = async (kind: { readonly definition: KindDefinition }) => {
      const { schemas, apiExport } = exportKinds({ name: "autoscalers", kinds: [kind] });
      for (const schema of schemas)
        await provider.resource(apiResourceSchemas).apply(schema, { fieldManager: "test" });
      return provider.resource(apiExports).apply(apiExport, { fieldManager: "test" });
    };
    await put(autoscalers);
    const made = await eventually(async () => {
      const found = await provider.resource(apiExports).get({ name: "autoscalers" });
      assert.notEqual(found.status?.identityHash, undefined, "the server writes an identity");
      return found;
    });
    assert.deepEqual(await put(autoscalers), made);
    const spec = { reference: { export: { path: "provider", name: "autoscalers" } } };
    const consumer = k.clientFor("consumer");
    await consumer.resource(apiBindings).create({ metadata: { name: "autoscalers" }, spec });
    const client = consumer.resource(autoscalers);
    await eventually(() => client.create({ metadata: at, spec: { max: 3 } }));
    assert.equal((await client.get(at)).spec.min, 1);
    const bad = client.create({ metadata: { ...at, name: "bad" }, spec: { min: 5, max: 3 } });
    await assert.rejects(bad, /min is beyond max/);

    const narrower = { ...kindOptions, spec: object({ max: int32("", { maximum: 3 }) }) };
    const changed = await put(defineKind({ ...narrower, rules: [] }));
    const schemaOf = ({ spec }: APIExport) => spec?.resources?.map(({ schema }) => schema);
    assert.notDeepEqual(schemaOf(changed), schemaOf(made));
    await k.close();
  });
});

describe("a deletion of what does not exist", () => {
  it("is refused, unless it is to be ignored", async () => {
    const k = await startTestControlPlane();
    const client = k.client.resource(configMaps);
    await assert.rejects(client.delete(at), { reason: "NotFound" });
    await client.delete(at, { ignoreNotFound: true });
    await client.create({ metadata: at });
    await client.delete(at, { ignoreNotFound: true });
    assert.equal(await client.find(at), undefined);
    await k.close();
  });
});
