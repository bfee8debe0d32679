/**
 * Goal: labels and annotations of a tenant are not mistaken for the state of its Workspace,
 * whatever words they have.
 */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { until } from "@kcp-ts/apiserver/testing";
import { TestServer } from "../testing/index.ts";

const masters = { user: "masters" } as const;
const workspaces = "/clusters/root/apis/tenancy.kcp.io/v1alpha1/workspaces";
const words = {
  phase: "Inactive",
  deletionTimestamp: "2026-01-01T00:00:00Z",
  finalizers: "x",
  mount: "x",
  status: "True",
};

describe("a Workspace with words of phases and conditions in its metadata", () => {
  it("is active, ends no watches, and is deleted like others", async () => {
    const test = await TestServer.start();
    await test.server.bootstrap("https://kcp.example.com");
    const body = { metadata: { name: "wordy", annotations: words } };
    const made = await test.requestOk("POST", workspaces, { ...masters, body });
    const { cluster } = made["spec"] as { cluster: string };
    const everywhere = await test.watch("/clusters/*/api/v1/configmaps?watch=1", masters);
    const logical = `/clusters/${cluster}/apis/core.kcp.io/v1alpha1/logicalclusters/cluster`;
    const patch = { metadata: { annotations: words } };
    const patched = await test.patch(logical, "merge", patch, masters);
    assert.equal(patched.status, 200, patched.text);
    assert.deepEqual(
      { ...patched.object.metadata.annotations, ...words },
      patched.object.metadata.annotations,
    );
    const configMap = { metadata: { name: "late", annotations: words } };
    const configMaps = `/clusters/${cluster}/api/v1/namespaces/default/configmaps`;
    await test.requestOk("POST", configMaps, { ...masters, body: configMap });
    const [event] = await everywhere.take(1);
    assert.equal(event?.object.metadata.name, "late", "a watch of all clusters goes on");
    await everywhere.leave();
    await test.requestOk("DELETE", `${workspaces}/wordy`, masters);
    await until(test, "it is gone", async () => {
      const { status } = await test.get(`${workspaces}/wordy`, masters);
      return status === 404;
    });
    await test.close();
  });
});
