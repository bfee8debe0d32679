import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { ApiResource, Discovery } from "@kcp-ts/sdk";
import { DeletionBudget, deletableResources, displayName } from "./content.ts";
import { recheckMs } from "./reconcile.ts";

const resource = (text: string, changes: Partial<ApiResource> = {}): ApiResource => {
  const [name = "", group = ""] = text.split(".");
  return {
    group,
    version: "v1",
    resource: name,
    kind: name,
    singular: name,
    namespaced: true,
    verbs: ["list", "delete"],
    shortNames: [],
    categories: [],
    subresources: [],
    ...changes,
  };
};

const discovery = (...versions: ApiResource[][]): Discovery => ({
  groups: [
    {
      name: "",
      versions: versions.map((resources) => ({ version: "v1", isStale: false, resources })),
    },
  ],
  failures: new Map(),
});

describe("content of a namespace", () => {
  it("is every namespaced resource that can be deleted, Pods first", () => {
    const found = deletableResources(
      discovery([
        resource("configmaps"),
        resource("nodes", { namespaced: false }),
        resource("bindings", { verbs: ["create"] }),
        resource("pods"),
        resource("secrets"),
      ]),
    );
    assert.deepEqual(found.map(displayName), ["pods.", "configmaps.", "secrets."]);
  });

  it("lists each resource once, in the version that comes first", () => {
    const found = deletableResources(
      discovery(
        [resource("jobs.batch", { version: "v1" })],
        [resource("jobs.batch", { version: "v1beta1" }), resource("cronjobs.batch")],
      ),
    );
    assert.deepEqual(
      found.map((one) => `${displayName(one)} ${one.version}`),
      ["jobs.batch v1", "cronjobs.batch v1"],
    );
  });

  it("a pass ends at its limit of deletions, and not before", () => {
    const allowance = new DeletionBudget(10);
    allowance.take(9);
    assert.equal(allowance.isUsedUp, false);
    allowance.take(1);
    assert.equal(allowance.isUsedUp, true);
  });
});

describe("the retry of a blocked namespace", () => {
  const deletedAt = "2026-01-01T00:00:00Z";
  const after = (ms: number) => recheckMs(deletedAt, Date.parse(deletedAt) + ms);

  it("comes later the longer the deletion takes, within limits", () => {
    assert.equal(after(-5000), 500);
    assert.equal(after(0), 500);
    assert.equal(after(2000), 500);
    assert.equal(after(2004), 501);
    assert.equal(after(60_000), 15_000);
    assert.equal(after(3_600_000), 15_000);
  });

  it("does not need a valid timestamp", () => {
    assert.equal(recheckMs("never", 0), 15_000);
  });
});
