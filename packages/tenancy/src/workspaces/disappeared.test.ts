/** Goal: a Workspace whose LogicalCluster is deleted reports so, wherever its phase is reported. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { until } from "@kcp-ts/apiserver/testing";
import { TestServer } from "../testing/index.ts";

const masters = { user: "masters" } as const;
const workspaces = "/clusters/root/apis/tenancy.kcp.io/v1alpha1/workspaces";

describe("a Workspace whose LogicalCluster is deleted", () => {
  it("is Unavailable, in its phase, its label and its conditions", async () => {
    const test = await TestServer.start();
    await test.server.bootstrap("https://kcp.example.com");
    const body = { metadata: { name: "lost" } };
    const made = await test.requestOk("POST", workspaces, { ...masters, body });
    const { cluster } = made["spec"] as { cluster: string };
    const logical = `/clusters/${cluster}/apis/core.kcp.io/v1alpha1/logicalclusters/cluster`;
    await test.requestOk("DELETE", logical, masters);
    await until(test, "it is gone", async () => (await test.get(logical, masters)).status === 404);
    test.clock.advance(61_000);
    await until(test, "it is known", async () => {
      const { status } = await test.requestOk("GET", `${workspaces}/lost`, masters);
      return (status as { phase: string }).phase === "Unavailable";
    });
    const { metadata, status } = await test.requestOk("GET", `${workspaces}/lost`, masters);
    assert.equal(metadata.labels?.["tenancy.kcp.io/phase"], "Unavailable");
    const { conditions } = status as { conditions: { type: string; [key: string]: string }[] };
    const { lastTransitionTime: _, ...condition } =
      conditions.find(({ type }) => type === "WorkspaceInitialized") ?? assert.fail();
    assert.deepEqual(condition, {
      type: "WorkspaceInitialized",
      status: "False",
      severity: "Error",
      reason: "WorkspaceDisappeared",
      message: `LogicalCluster ${cluster} not found`,
    });
    await test.close();
  });
});
