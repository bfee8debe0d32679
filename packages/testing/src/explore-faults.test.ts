import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { fileURLToPath } from "node:url";
import { isStatusError } from "@kcp-ts/machinery/status";
import {
  type ControllerDefinition,
  controlledBy,
  controllerFor,
  defineResource,
  isTransportError,
  type KubernetesObject,
  run,
  silentLog,
} from "@kcp-ts/sdk";
import { configMaps } from "@kcp-ts/sdk/kinds";
import { ExplorationError, exploreFaults, type FaultyTest } from "./explore-faults.ts";
import { faultPatterns, isOfWrites } from "./fault-schedule.ts";
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

/** Gives up for good when its writes met such errors. */
function impatientTest(
  givesUp: (errors: readonly unknown[]) => boolean,
  pages: number,
): FaultyTest {
  return (world) => {
    const errors: unknown[] = [];
    const impatient = controllerFor(websites, { name: "impatient" }).reconcile(
      async (website, { client }) => {
        if (givesUp(errors)) return;
        const { name, namespace } = website.metadata;
        try {
          for (let page = 0; page < pages; page++) {
            const metadata = { name: `${name}-${page}`, namespace, labels };
            await client.resource(configMaps).apply({ metadata }, { fieldManager: "impatient" });
          }
          await client.resource(websites).setStatus(website, { ready: true });
        } catch (error) {
          errors.push(error);
          throw error;
        }
      },
    );
    return siteTest(impatient, pages)(world);
  };
}

describe("exploreFaults", () => {
  it("passes a controller with 20 writes through all its crash points", async () => {
    const patterns = ["crash"] as const;
    const before = process.cpuUsage();
    const { writes, runs } = await exploreFaults(siteTest(correct, 10), { crds, patterns });
    assert.ok(writes.length >= 20);
    assert.equal(runs, 1 + writes.length);
    const { user, system } = process.cpuUsage(before);
    assert.ok((user + system) / 1e6 < 10, `${(user + system) / 1e6} s of a processor`);
  });

  it("passes it through all other patterns", async () => {
    const patterns = faultPatterns.filter((one) => one !== "crash");
    const { runs, writes, untried } = await exploreFaults(siteTest(correct, 3), { crds, patterns });
    assert.deepEqual(untried, []);
    const ofWrites = patterns.filter(isOfWrites).length;
    assert.equal(runs, 1 + patterns.length + ofWrites * writes.length);
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
          /^crash at opportunity 1: .*crashes after its write .*\n.*2 !== 1/s,
        );
        return true;
      },
    );
  });

  it("finds the second create of a collection whose lost answer makes a double", async () => {
    // The first page has a name of its own; that of the second comes from the server.
    const unlucky = controllerFor(websites, { name: "unlucky" }).reconcile(
      async (website, { client }) => {
        if (website.status?.ready === true) return;
        const { name, namespace } = website.metadata;
        const pages = client.resource(configMaps);
        if ((await pages.find({ name, namespace })) === undefined)
          await pages.create({ metadata: { name, namespace, labels } });
        await pages.create({ metadata: { generateName: `${name}-`, namespace, labels } });
        await client.resource(websites).setStatus(website, { ready: true });
      },
    );
    const patterns = ["lose-answer"] as const;
    await assert.rejects(
      exploreFaults(siteTest(unlucky, 2), { crds, patterns }),
      (error: Error) => {
        assert.ok(error instanceof ExplorationError, error.message);
        assert.deepEqual(error.schedule, { pattern: "lose-answer", strikes: [2], seed: 1 });
        return true;
      },
    );
  });

  it("finds the second write of a status whose loss is not noticed", async () => {
    const deaf = controllerFor(websites, { name: "deaf" }).reconcile(
      async (website, { client }) => {
        const statuses = client.resource(websites);
        if (website.status === undefined) await statuses.setStatus(website, { ready: false });
        if (website.status?.ready !== false) return;
        const { name, namespace } = website.metadata;
        const metadata = { name, namespace, labels };
        await client.resource(configMaps).apply({ metadata }, { fieldManager: "deaf" });
        await statuses.setStatus(website, { ready: true }).catch(() => {});
      },
    );
    const patterns = ["lose-request"] as const;
    await assert.rejects(exploreFaults(siteTest(deaf, 1), { crds, patterns }), (error: Error) => {
      assert.ok(error instanceof ExplorationError, error.message);
      assert.deepEqual(error.schedule, { pattern: "lose-request", strikes: [3], seed: 1 });
      return true;
    });
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

  it("narrows a failure that needs several faults down to just these", async () => {
    const patterns = ["lose-request"] as const;
    await assert.rejects(
      exploreFaults(
        impatientTest((errors) => errors.length >= 2, 4),
        { crds, patterns },
      ),
      (error: Error) => {
        assert.ok(error instanceof ExplorationError, error.message);
        assert.equal(error.schedule.strikes.length, 2, error.message);
        assert.match(error.message, /^lose-request at opportunities \d+, \d+: the connection/);
        return true;
      },
    );
  });

  it("finds with pairs what needs faults of two patterns", async () => {
    const both = (errors: readonly unknown[]) =>
      errors.some((one) => isStatusError(one, "Conflict")) &&
      errors.some((one) => isTransportError(one));
    const patterns = ["conflict", "lose-request"] as const;
    const test = impatientTest(both, 1);
    const { runs, writes } = await exploreFaults(test, { crds, patterns });
    assert.equal(runs, 1 + 2 * (writes.length + 1));
    await assert.rejects(exploreFaults(test, { crds, patterns, pairs: 3 }), (error: Error) => {
      assert.ok(error instanceof ExplorationError, error.message);
      const { pattern, strikes, with: second } = error.schedule;
      assert.deepEqual([pattern, second?.pattern].sort(), ["conflict", "lose-request"]);
      assert.deepEqual([strikes.length, second?.strikes.length], [1, 1]);
      assert.match(error.message, /; with (conflict|lose-request) at opportunity \d: the/);
      return true;
    });
  });

  it("says which writes were not tried alone, and spreads those that are", async () => {
    const options = { crds, patterns: ["crash"], crashesMax: 2 } as const;
    const { writes, runs, untried } = await exploreFaults(siteTest(correct, 3), options);
    assert.equal(runs, 1 + 2);
    assert.equal(untried.length, writes.length - 2);
    assert.ok(!untried.includes(writes.length));
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

describe("stale reads", () => {
  /** Makes what is missing, by what a read says that may be behind. */
  const trusting = (resourceVersion: string | undefined) =>
    controllerFor(websites, { name: "trusting" }).reconcile(async (website, { client }) => {
      if (website.status?.ready === true) return;
      const { name, namespace } = website.metadata;
      const pages = client.resource(configMaps);
      for (;;) {
        const options = { namespace, labelSelector: "page", resourceVersion };
        const { items } = await pages.list(options);
        if (items.length >= (website.spec.pages ?? 1)) break;
        await pages.create({ metadata: { generateName: `${name}-`, namespace, labels } });
      }
      await client.resource(websites).setStatus(website, { ready: true });
    });

  it("break a controller that counts what it made in a cached list", async () => {
    const patterns = ["stale-reads"] as const;
    await assert.rejects(
      exploreFaults(siteTest(trusting("0"), 2), { crds, patterns }),
      (error: Error) => {
        assert.ok(error instanceof ExplorationError, error.message);
        assert.equal(error.schedule.strikes.length, 1, error.message);
        assert.match(error.message, /a read with resourceVersion=0 does not see the write before/);
        return true;
      },
    );
  });

  it("leave reads without a version as they are, unless these are asked for", async () => {
    const test = siteTest(trusting(undefined), 2);
    await exploreFaults(test, { crds, patterns: ["stale-reads"] });
    await assert.rejects(exploreFaults(test, { crds, patterns: ["stale-live-reads"] }), {
      name: "ExplorationError",
    });
  });

  it("do not break a controller whose names follow from its object", async () => {
    await exploreFaults(siteTest(correct, 2), { crds, patterns: ["stale-live-reads"] });
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
