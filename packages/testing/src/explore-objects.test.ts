import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { controlledBy, controllerFor, run, silentLog } from "@kcp-ts/sdk";
import { configMaps } from "@kcp-ts/sdk/kinds";
import { defineKind, int32, object, string } from "@kcp-ts/sdk/schema";
import { exploreObjects, ObjectsError } from "./explore-objects.ts";

const sites = defineKind({
  group: "example.com",
  version: "v1",
  kind: "Site",
  spec: object(
    { title: string("", { maxLength: 10 }), pages: int32("", { minimum: 0, maximum: 4 }) },
    { required: ["title", "pages"] },
  ),
  status: object({ pages: int32() }),
  rules: [["self.spec.title != 'x'", "no x"]],
});

/** Makes a ConfigMap for each page; removes those that are too many, if it is a good one. */
const pagesController = (removes: boolean) =>
  controllerFor(sites, { name: "pages" })
    .owns(configMaps)
    .reconcile(async (site, { client, cached }) => {
      const { name, namespace } = site.metadata;
      const names = Array.from({ length: site.spec.pages }, (_, page) => `${name}-${page}`);
      for (const one of names) {
        const metadata = { name: one, namespace, ownerReferences: [controlledBy(site)] };
        const data = { title: site.spec.title };
        await client.resource(configMaps).apply({ metadata, data }, { fieldManager: "pages" });
      }
      for (const { metadata } of removes ? cached(configMaps).ownedBy(site) : []) {
        if (!names.includes(metadata.name)) await client.resource(configMaps).delete(metadata);
      }
      await client.resource(sites).setStatus(site, { pages: site.spec.pages });
    });

const options = (removes: boolean) => ({
  kind: sites,
  owned: [configMaps],
  controller: (clusters: Parameters<typeof run>[0]["clusters"] & object, signal: AbortSignal) =>
    run({ clusters, controllers: [pagesController(removes)], signal, log: silentLog }),
  check: (site: { spec: { pages: number }; status?: { pages?: number } }) =>
    assert.equal(site.status?.pages, site.spec.pages),
  seed: 3,
});

describe("exploreObjects", () => {
  it("passes a controller that converges and undoes what is undone", async () => {
    const { applied, refused } = await exploreObjects({ ...options(true), count: 14 });
    assert.ok(applied >= 5, `${applied} applied`);
    assert.ok(refused >= 5, `${refused} refused`);
  });

  it("finds the two states between which a controller leaves something behind", async () => {
    await assert.rejects(
      exploreObjects({ ...options(false), count: 30, timeoutMs: 1000 }),
      (error: Error) => {
        assert.ok(error instanceof ObjectsError);
        assert.match(error.message, /^a change that is undone leaves something behind \(seed 3\)/);
        const [few, many, again] = error.states as { pages: number }[];
        assert.ok(few !== undefined && many !== undefined && few.pages < many.pages);
        assert.deepEqual(again, few);
        return true;
      },
    );
  });

  it("fails where the controller never does what the object wants", async () => {
    const idle = async (_: unknown, signal: AbortSignal) =>
      new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve()));
    await assert.rejects(
      exploreObjects({ ...options(true), controller: idle, count: 1, timeoutMs: 300 }),
      /the controller does not converge \(seed 3\):\n1\. \{.*not stable after 300 ms/s,
    );
  });
});
