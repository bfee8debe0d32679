/**
 * Goal: an assignment that is known is confirmed by one request, and a removed one is noticed.
 * Method: a server of ConfigMaps and Deployments that records what it is asked.
 */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Catalog, ResourceDefinition } from "@kcp-ts/apiserver";
import { rootCluster } from "@kcp-ts/machinery/names";
import { clusterLabel } from "@kcp-ts/multicluster";
import { Client, InProcessTransport } from "@kcp-ts/sdk";
import { FakeClock, SeededRandom } from "@kcp-ts/testkit";
import { SyncedNamespaces } from "./synced-namespaces.ts";

const kinds = [
  { group: "", version: "v1", resource: "configmaps", kind: "ConfigMap" },
  { group: "apps", version: "v1", resource: "deployments", kind: "Deployment" },
].map((one) => ({ ...one, isNamespaced: true, verbs: ["list"] }));
const catalog = {
  all: async () => kinds as unknown as readonly ResourceDefinition[],
  find: async () => undefined,
} as unknown as Catalog;
const place = { cluster: rootCluster, namespace: "shop" };

function started() {
  const clock = new FakeClock();
  const asked: string[] = [];
  const assigned = new Map([["deployments", "web"]]);
  const transport = new InProcessTransport(({ path }) => {
    const [resource = "", name = ""] = (path.split("/namespaces/shop/")[1] ?? "").split(/[/?]/, 2);
    const isList = path.includes("?");
    asked.push(isList ? `LIST ${resource}` : `GET ${resource}`);
    const held = assigned.get(resource);
    const metadata = { name: held, namespace: "shop", labels: { [clusterLabel]: "east" } };
    const items = held === undefined ? [] : [{ metadata }];
    if (isList) return { status: 200, body: JSON.stringify({ metadata: {}, items }) };
    if (name === held) return { status: 200, body: JSON.stringify({ metadata }) };
    const missing = { kind: "Status", status: "Failure", reason: "NotFound", code: 404 };
    return { status: 404, body: JSON.stringify({ ...missing, details: { name } }) };
  });
  const client = new Client({ transport, clock, random: new SeededRandom(1) });
  const namespaces = new SyncedNamespaces({ client: () => client, catalog: () => catalog });
  /** What is asked for a result, and the result, when the last one has expired. */
  const look = async () => {
    await clock.advanceAndFlush(6000);
    asked.length = 0;
    const has = await namespaces.has(place, "east");
    return { has, asked: [...asked] };
  };
  return { assigned, look };
}

describe("namespaces that clusters write to", () => {
  it("an assignment that was found is confirmed by one request", async () => {
    const { look } = started();
    const first = await look();
    assert.equal(first.has, true);
    assert.ok(
      first.asked.every((one) => one === "LIST deployments"),
      first.asked.join(),
    );
    assert.deepEqual(await look(), { has: true, asked: ["GET deployments"] });
  });

  it("another assigned object counts when the one that was found is gone, and none is none", async () => {
    const { assigned, look } = started();
    await look();
    assigned.delete("deployments");
    assigned.set("configmaps", "settings");
    const second = await look();
    assert.equal(second.has, true);
    assert.deepEqual((await look()).asked, ["GET configmaps"]);
    assigned.clear();
    assert.equal((await look()).has, false);
  });
});
