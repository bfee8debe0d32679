/** Goal: a workspace whose logical cluster is gone, by whatever accident, says so and is closed. */
import assert from "node:assert/strict";
import { it } from "node:test";
import { objectKey } from "@kcp-ts/apiserver/storage";
import { MemoryStorage } from "@kcp-ts/apiserver/storage/memory";
import type { ClusterName } from "@kcp-ts/machinery/names";
import { startTestControlPlane } from "@kcp-ts/testing/internal";
import { eventually, FakeClock } from "@kcp-ts/testkit";
import { admin, alice, master } from "./workspace-fixture.ts";
import { tenancyOf, WorkspaceRequests } from "./workspace-requests.ts";

it("a workspace whose logical cluster disappeared is unavailable after a minute, and says why", async () => {
  const [storage, clock] = [new MemoryStorage(), new FakeClock()];
  await using plane = await startTestControlPlane({ storage, clock });
  const asking = new WorkspaceRequests(plane);
  await asking.allowWorkspaceCreation(admin);
  const cluster = (await asking.workspace(alice, "lost")) as ClusterName;
  const { signal } = new AbortController();
  const key = objectKey({
    group: "core.kcp.io",
    resource: "logicalclusters",
    identity: "",
    cluster,
    namespace: "",
    name: "cluster",
  });
  const entry = await storage.get(key, { signal });
  assert.ok(entry);
  await storage.commit({ key, value: "delete", expected: entry.modifiedAt }, { signal });
  const found = () => asking.expectSuccess(admin, "GET", `${tenancyOf("root")}/workspaces/lost`);
  await eventually(async () => {
    clock.advance(30_000);
    const { status } = await found();
    assert.equal(status.phase, "Unavailable");
    const conditions = status.conditions as { type: string; status: string; reason?: string }[];
    const initialized = conditions.find(({ type }) => type === "WorkspaceInitialized");
    assert.equal(initialized?.status, "False");
    assert.equal(initialized?.reason, "WorkspaceDisappeared");
  });
  const path = "/clusters/root:lost/api/v1/namespaces";
  assert.equal((await asking.request(master, "GET", path)).status, 503);
  assert.equal((await asking.request(alice, "GET", path)).status, 403, "nobody else learns of it");
});
