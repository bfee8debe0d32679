import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { fileURLToPath } from "node:url";
import {
  type ControllerDefinition,
  controlledBy,
  controllerFor,
  defineResource,
  type KubernetesObject,
  run,
  silentLog,
} from "@kcp-ts/sdk";
import { configMaps } from "@kcp-ts/sdk/kinds";
import { ExplorationError, exploreFaults, type FaultyTest } from "./explore-faults.ts";
import { faultPatterns } from "./fault-schedule.ts";
import { mergeEvents } from "./merge-events.ts";

interface Website extends KubernetesObject {
  readonly spec: { readonly title: string; readonly pages?: number };
  readonly status?: { readonly ready?: boolean };
}
const websites = defineResource<Website>({
  group: "example.com",
  version: "v1",
  resource: "websites",
  kind: "Website",
  namespaced: true,
});
const crd = fileURLToPath(new URL("../../../examples/website.crd.yaml", import.meta.url));
const crds = [crd];
const at = { name: "hello", namespace: "default" };

/** One website with so many pages, and in the end exactly those. */
function siteTest(controller: ControllerDefinition, pages: number): FaultyTest {
  return async ({ client, runController, eventuallyStable }) => {
    runController((given, signal) =>
      run({ clusters: given, controllers: [controller], signal, log: silentLog }),
    );
    await client.resource(websites).create({ metadata: at, spec: { title: "Hello", pages } });
    await eventuallyStable(
      async () => {
        const { status } = await client.resource(websites).get(at);
        assert.equal(status?.ready, true);
        const { items } = await client
          .resource(configMaps)
          .list({ namespace: at.namespace, labelSelector: "page" });
        assert.equal(items.length, pages);
      },
      { timeoutMs: 4000 },
    );
  };
}

const labels = { page: "yes" };

/** Names follow from the website, and every write is an apply. */
const correct = controllerFor(websites, { name: "correct" })
  .owns(configMaps)
  .reconcile(async (website, { client }) => {
    const { name, namespace } = website.metadata;
    for (let page = 0; page < (website.spec.pages ?? 1); page++) {
      const ownerReferences = [controlledBy(website)];
      const metadata = { name: `${name}-${page}`, namespace, labels, ownerReferences };
      await client.resource(configMaps).apply({ metadata }, { fieldManager: "correct" });
    }
    await client.resource(websites).setStatus(website, { ready: true });
  });

describe("exploreFaults", () => {
  it("passes a controller with 20 writes through all its crash points", async () => {
    const patterns = ["crash"] as const;
    const { writes, runs } = await exploreFaults(siteTest(correct, 10), { crds, patterns });
    assert.ok(writes.length >= 20);
    assert.equal(runs, 1 + writes.length);
  });

  it("passes it through all other patterns", async () => {
    const patterns = faultPatterns.filter((one) => one !== "crash");
    const { runs } = await exploreFaults(siteTest(correct, 3), { crds, patterns });
    assert.equal(runs, 1 + patterns.length);
  });

  it("finds the one write after which a crash makes a double", async () => {
    // Remembers in the status what it made, after it was made, under names that the server chooses.
    const forgetful = controllerFor(websites, { name: "forgetful" }).reconcile(
      async (website, { client }) => {
        if (website.status?.ready === true) return;
        const { name, namespace } = website.metadata;
        for (let page = 0; page < (website.spec.pages ?? 1); page++) {
          const metadata = { generateName: `${name}-`, namespace, labels };
          await client.resource(configMaps).create({ metadata });
        }
        await client.resource(websites).setStatus(website, { ready: true });
      },
    );
    const patterns = ["crash"] as const;
    await assert.rejects(
      exploreFaults(siteTest(forgetful, 1), { crds, patterns }),
      (error: Error) => {
        assert.ok(error instanceof ExplorationError);
        assert.deepEqual(error.schedule, { pattern: "crash", strikes: [1], seed: 1 });
        assert.match(
          error.message,
          /^crash at opportunity 1 .*crashes after its write\n.*2 !== 1/s,
        );
        return true;
      },
    );
  });

  it("narrows a pattern down to the single fault that is enough", async () => {
    // Takes every error of its status for success, and nothing calls it again.
    const careless = controllerFor(websites, { name: "careless" }).reconcile(
      async (website, { client }) => {
        const { name, namespace } = website.metadata;
        const metadata = { name, namespace, labels };
        await client.resource(configMaps).apply({ metadata }, { fieldManager: "careless" });
        const status = { ready: true };
        await client
          .resource(websites)
          .setStatus(website, status)
          .catch(() => {});
      },
    );
    const patterns = ["conflict"] as const;
    await assert.rejects(
      exploreFaults(siteTest(careless, 1), { crds, patterns }),
      (error: Error) => {
        assert.ok(error instanceof ExplorationError);
        assert.deepEqual(error.schedule, { pattern: "conflict", strikes: [2], seed: 1 });
        return true;
      },
    );
  });

  it("fails a controller that never stops to write", async () => {
    const restless = controllerFor(websites, { name: "restless" }).reconcile(
      async (website, { client }) => {
        const { name, namespace } = website.metadata;
        const metadata = { name, namespace, labels };
        await client.resource(configMaps).apply({ metadata }, { fieldManager: "restless" });
        const patch = { metadata: { annotations: { at: String(performance.now()) } } };
        await client.resource(websites).patch({ name, namespace }, { type: "merge", patch });
        await client.resource(websites).setStatus(website, { ready: true });
      },
    );
    await assert.rejects(
      exploreFaults(siteTest(restless, 1), { crds, patterns: [] }),
      /not stable after 4000 ms: it is still written: .*PATCH .*websites\/hello/,
    );
  });
});

describe("skipped events", () => {
  it("leave out states in between, and nothing else", () => {
    const line = (type: string, uid: string, n: number) =>
      Buffer.from(`${JSON.stringify({ type, object: { metadata: { uid }, n } })}\n`);
    const chunks = [
      line("ADDED", "a", 1),
      line("MODIFIED", "b", 1),
      line("MODIFIED", "a", 2),
      line("ADDED", "c", 1),
      line("DELETED", "c", 2),
      line("DELETED", "b", 2),
    ];
    const text = Buffer.from(mergeEvents(chunks)).toString("utf8");
    const left = text
      .trimEnd()
      .split("\n")
      .map(
        (one) =>
          JSON.parse(one) as { type: string; object: { metadata: { uid: string }; n: number } },
      );
    assert.deepEqual(
      left.map(({ type, object }) => `${type} ${object.metadata.uid}${object.n}`),
      ["ADDED a2", "DELETED b2"],
    );
  });
});
