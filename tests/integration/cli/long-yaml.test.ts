/**
 * Long YAML, which a thread reads whose program stands beside the bundle: to kcp as users run it.
 */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { connect, loadKubeconfig } from "@kcp-ts/sdk";
import { startKcp, temporaryFolder } from "./kcp-process.ts";

describe("the command kcp", () => {
  it("accepts a configuration of 200 KiB that is sent as YAML, and stops on a signal", async (t) => {
    const kcp = await startKcp(await temporaryFolder(t));
    t.after(() => kcp.stop());
    const { client, close } = connect(await loadKubeconfig({ path: kcp.kubeconfig }));
    const lines = Array.from({ length: 4000 }, (_, i) => `  key-${i}: ${"v".repeat(40)}\n`);
    const { status, body } = await client.transport.send({
      method: "PATCH",
      path: `${client.basePath}/api/v1/namespaces/default/configmaps/long?fieldManager=me`,
      headers: { "content-type": "application/apply-patch+yaml" },
      body: `apiVersion: v1\nkind: ConfigMap\ndata:\n${lines.join("")}`,
    });
    const text = await body.text();
    assert.equal(status, 201, text);
    const { data } = JSON.parse(text) as { data: Record<string, string> };
    assert.equal(Object.keys(data).length, 4000);
    await close();
    assert.equal(await kcp.stop(), 0);
  });
});
