/**
 * Goal: kinds that name what may be anybody's, as PersistentVolumes name storage, come from the
 * owner of the cluster alone.
 */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { defaultPolicies } from "@kcp-ts/multicluster";
import { namespaces, widgets } from "./faulty-server.ts";
import { assigned, SyncerFixture } from "./syncer-fixture.ts";

describe("kinds of the owner of a cluster", () => {
  it("are synced from the logical cluster of the SyncTarget, and from no tenant's", async (t) => {
    assert.equal(defaultPolicies["persistentvolumes"]?.workspaces, "Own");
    const policies = { "widgets.example.com": { workspaces: "Own" } } as const;
    const pair = await SyncerFixture.start(t, { policies });
    const tenant = pair.in("tenant");
    await tenant.resource(namespaces).create({ metadata: { name: "shop" } });
    const metadata = { name: "theirs", namespace: "shop", labels: assigned };
    await tenant.resource(widgets).create({ metadata, spec: { color: "red" } });
    await pair.widget("ours");
    await pair.copied("ours");
    await pair.untilQuiet();
    const { items } = await pair.down.client.resource(widgets).list();
    assert.deepEqual(
      items.map((one) => one.metadata.name),
      ["ours"],
    );
  });

  it("are every tenant's otherwise", async (t) => {
    const pair = await SyncerFixture.start(t);
    const tenant = pair.in("tenant");
    await tenant.resource(namespaces).create({ metadata: { name: "shop" } });
    const metadata = { name: "theirs", namespace: "shop", labels: assigned };
    await tenant.resource(widgets).create({ metadata, spec: { color: "red" } });
    await pair.copied("theirs", "tenant");
  });
});
