import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { deployment, type MessageShape, pod, type Shape } from "@kcp-ts/machinery/shape";
import { inGeneration } from "./index.ts";

function at(shape: MessageShape, path: string): Shape | undefined {
  let found: Shape | undefined = shape;
  for (const name of path.split(".")) {
    if (found?.kind === "list") found = found.items;
    found = found?.kind === "message" ? found.fields.get(name)?.shape : undefined;
  }
  return found;
}

describe("generations of Kubernetes", () => {
  const older = inGeneration(deployment, "1.28");

  it("generations differ in the fields that were added in between, at every depth", () => {
    for (const path of [
      "status.terminatingReplicas",
      "spec.template.spec.hostnameOverride",
      "spec.template.spec.volumes.image",
      "spec.template.spec.containers.lifecycle.preStop.sleep",
    ]) {
      assert.ok(at(deployment, path) !== undefined, `1.36 has ${path}`);
      assert.equal(at(older, path), undefined, `1.28 has no ${path}`);
    }
  });

  it("generations share all other fields, field numbers included", () => {
    for (const path of ["spec.template.spec.volumes.configMap.name", "spec.strategy.type"])
      assert.deepEqual(at(older, path), at(deployment, path), path);
    const spec = older.fields.get("spec");
    assert.equal(spec?.number, deployment.fields.get("spec")?.number);
    assert.equal(older.name, deployment.name);
  });

  it("the shape of a generation is created once", () => {
    assert.equal(inGeneration(deployment, "1.28"), older);
    assert.equal(inGeneration(pod, "1.36"), pod);
  });
});
