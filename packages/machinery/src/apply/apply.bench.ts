/**
 * What managedFields cost per write: prints microseconds, asserts nothing.
 *
 * The objects are parsed anew for every round, outside the measured time, because writes come from the wire and share nothing with what
 * is stored.
 */
import type { JsonObject } from "../json/index.ts";
import {
  applyConfiguration,
  mapType,
  objectType,
  stringType,
  updateManagedFields,
} from "./index.ts";

const schema = objectType({ data: mapType(stringType), binaryData: mapType(stringType) });
const common = {
  apiVersion: "v1",
  kind: "ConfigMap",
  now: "2026-01-02T03:04:05Z",
  schema,
} as const;

function configMap(value: string): JsonObject {
  const data: { [key: string]: string } = {};
  for (let i = 0; i < 16; i++)
    data[`setting-${i}.yaml`] = `value of setting number ${i} is ${value} today`;
  return {
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: { name: "settings", namespace: "default", labels: { app: "web", tier: "front" } },
    data,
  };
}

const texts = {
  config: JSON.stringify(configMap("x")),
  changed: JSON.stringify({
    ...configMap("x"),
    data: { ...(configMap("x")["data"] as JsonObject), "setting-3.yaml": "new" },
  }),
};

function parse(text: string): JsonObject {
  return JSON.parse(text) as JsonObject;
}

const created = JSON.stringify(
  updateManagedFields({ ...common, manager: "kubectl-create", updated: parse(texts.config) }),
);
const applied = JSON.stringify(
  applyConfiguration({ ...common, manager: "flux", config: parse(texts.config), force: false }),
);

/** The best of many small batches: what is prepared for a batch must not become a burden of the garbage collector. */
function measure(name: string, prepare: () => () => unknown): number {
  const [batches, rounds] = [200, 100];
  let best = Number.POSITIVE_INFINITY;
  for (let batch = 0; batch < batches; batch++) {
    const runs = Array.from({ length: rounds }, prepare);
    const start = performance.now();
    for (const run of runs) run();
    best = Math.min(best, ((performance.now() - start) * 1000) / rounds);
  }
  console.log(`${name.padEnd(44)} ${best.toFixed(1).padStart(6)} µs`);
  return best;
}

console.log(`ConfigMap of ${texts.config.length} bytes, ${created.length} stored`);
measure("parse the object, for comparison", () => () => JSON.parse(created));
measure("create", () => {
  const updated = parse(texts.config);
  return () => updateManagedFields({ ...common, manager: "kubectl-create", updated });
});
const update = measure("update one value by another manager", () => {
  const live = parse(created);
  const updated = parse(texts.changed);
  return () => updateManagedFields({ ...common, live, updated, manager: "controller" });
});
measure("update that changes nothing", () => {
  const live = parse(created);
  const updated = parse(created);
  return () => updateManagedFields({ ...common, live, updated, manager: "controller" });
});
const apply = measure("apply that changes one value", () => {
  const live = parse(applied);
  const config = parse(texts.changed);
  return () => applyConfiguration({ ...common, live, config, manager: "flux", force: false });
});
measure("apply that changes nothing", () => {
  const live = parse(applied);
  const config = parse(texts.config);
  return () => applyConfiguration({ ...common, live, config, manager: "flux", force: false });
});
measure("apply that drops one value", () => {
  const live = parse(applied);
  const { "setting-3.yaml": _, ...data } = configMap("x")["data"] as JsonObject;
  const config = parse(JSON.stringify({ ...configMap("x"), data }));
  return () => applyConfiguration({ ...common, live, config, manager: "flux", force: false });
});
console.log(`apply costs ${(apply / update).toFixed(1)} updates`);
