import assert from "node:assert/strict";
import { describe, it } from "node:test";
import {
  deployment,
  deployments,
  register,
  startPhysical,
  startPlane,
  untilCondition,
  untilImport,
} from "./fixture.ts";

describe("a physical cluster", () => {
  it("is ready after it is registered, and what it serves appears", async (t) => {
    const plane = await startPlane(t);
    const east = await startPhysical(t, { name: "us-east1" });
    await register(plane.client, "us-east1", { kubeconfig: east.kubeconfig });
    const target = await untilCondition(plane.client, "us-east1", { status: "True" });
    assert.match(target.status?.version ?? "", /^v1\.36/);
    await untilImport(plane.client, "deployments.us-east1.v1.apps", {
      compatible: "True",
      available: "True",
    });
    await plane.client.resource(deployments).create(deployment("web"));
    const table = await plane.client.resource(deployments).table({ namespace: "default" });
    assert.ok(table.columnDefinitions.some(({ name }) => name === "Ready"));
  });
});
