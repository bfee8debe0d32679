/**
 * Goal: controllers that follow one kind share its watch, and each of them waits for its own kinds
 * only.
 */
import assert from "node:assert/strict";
import { describe, it, type TestContext } from "node:test";
import { onAbort } from "@kcp-ts/machinery/base";
import { rootCluster } from "@kcp-ts/machinery/names";
import { Client, defineResource, InProcessTransport, type KubernetesObject } from "@kcp-ts/sdk";
import { FakeClock, SeededRandom } from "@kcp-ts/testkit";
import { MetadataInformers } from "./metadata-informers.ts";

const type = { group: "example.io", version: "v1", namespaced: true };
const things = defineResource<KubernetesObject>({ ...type, kind: "Thing", resource: "things" });
const absent = defineResource<KubernetesObject>({ ...type, kind: "Absent", resource: "absents" });

/** Serves things, of which there are none, and nothing else. */
function started(t: TestContext, held?: Promise<void>) {
  const clock = new FakeClock();
  const paths: string[] = [];
  let isAbsent = true;
  let hold = held;
  const transport = new InProcessTransport(async ({ path, signal }) => {
    paths.push(path);
    if (isAbsent && !path.includes("/things")) return { status: 404, body: notFound };
    // Whether the kind is served is known at once, its objects later.
    if (!path.includes("limit=1&") && !path.endsWith("limit=1")) await hold;
    return path.includes("watch=true")
      ? { status: 200, body: watched(signal) }
      : { status: 200, body: emptyList };
  });
  const client = new Client({ transport, clock, random: new SeededRandom(1) });
  const informers = new MetadataInformers({ client, clock });
  const stop = new AbortController();
  const done = informers.run(stop.signal);
  t.after(async () => {
    stop.abort();
    await clock.advanceAndFlush(60_000);
    await done;
  });
  const serve = (held: Promise<void>) => {
    isAbsent = false;
    hold = held;
  };
  return { client, clock, informers, paths, serve };
}

const notFound = JSON.stringify({
  kind: "Status",
  status: "Failure",
  reason: "NotFound",
  code: 404,
});
const emptyList = JSON.stringify({ kind: "List", metadata: { resourceVersion: "1" }, items: [] });

async function* watched(signal: AbortSignal | undefined): AsyncGenerator<Uint8Array> {
  const metadata = { resourceVersion: "1", annotations: { "k8s.io/initial-events-end": "true" } };
  const object = { apiVersion: "example.io/v1", kind: "Thing", metadata };
  yield new TextEncoder().encode(`${JSON.stringify({ type: "BOOKMARK", object })}\n`);
  await new Promise<void>((resolve) => void onAbort(signal, resolve));
}

describe("shared metadata informers", () => {
  it("watch a kind once for all views", async (t) => {
    const { client, clock, informers, paths } = started(t);
    const views = [1, 2, 3].map(() => informers.view(client, () => {}));
    const stores = views.map((view) => view.source(things).store);
    await clock.advanceAndFlush(0);
    assert.equal(paths.filter((path) => path.includes("watch=true")).length, 1, paths.join("\n"));
    assert.equal(new Set(stores).size, 1);
  });

  it("a view waits for its own kinds, and hears of errors that came before it", async (t) => {
    const { client, clock, informers } = started(t);
    const errors: unknown[] = [];
    informers.view(client, () => {}).source(absent);
    const ready = informers.view(client, () => {});
    ready.source(things);
    await clock.advanceAndFlush(0);
    assert.equal(ready.hasSynced, true);
    assert.equal(ready.ready(rootCluster), undefined);
    const late = informers.view(client, (error) => errors.push(error));
    late.source(absent);
    assert.equal(errors.length, 1);
    assert.equal(late.hasSynced, false);
    assert.notEqual(late.ready(rootCluster), undefined);
  });

  it("a view is listed when each of its kinds is, and a kind that is not served counts alone", async (t) => {
    let release = () => {};
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    const { client, clock, informers } = started(t, held);
    const view = informers.view(client, () => {});
    view.source(absent);
    view.source(things);
    let isListed = false;
    void view.listed().then(() => {
      isListed = true;
    });
    await clock.advanceAndFlush(0);
    assert.equal(isListed, false);
    release();
    await clock.advanceAndFlush(0);
    assert.equal(isListed, true);
  });

  it("a kind that is served after it was not counts when it is listed", async (t) => {
    const { client, clock, informers, paths, serve } = started(t);
    const view = informers.view(client, () => {});
    view.source(absent);
    await clock.advanceAndFlush(0);
    let release = () => {};
    serve(
      new Promise<void>((resolve) => {
        release = resolve;
      }),
    );
    let isListed = false;
    void view.listed().then(() => {
      isListed = true;
    });
    await clock.advanceAndFlush(60_000);
    assert.equal(isListed, false);
    assert.match(paths.find((path) => path.includes("limit=1")) ?? "", /^\/clusters\/\*\//);
    release();
    await clock.advanceAndFlush(60_000);
    assert.equal(isListed, true);
  });
});
