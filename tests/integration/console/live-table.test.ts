/** LiveTable on a real server: pages, changes on pages that are not loaded, and lost history. */
import assert from "node:assert/strict";
import { afterEach, beforeEach, describe, it } from "node:test";
import { StatusError } from "@kcp-ts/machinery/status";
import {
  Client,
  LiveTable,
  type LiveTableOptions,
  type Transport,
  type TransportRequest,
} from "@kcp-ts/sdk";
import type { ConfigMap } from "@kcp-ts/sdk/kinds";
import * as kinds from "@kcp-ts/sdk/kinds";
import { eventually, startTestControlPlane, type TestControlPlane } from "@kcp-ts/testing";

const namespace = "default";

describe("a LiveTable", () => {
  let plane: TestControlPlane;
  const stopping: AbortController[] = [];
  beforeEach(async () => {
    plane = await startTestControlPlane();
  });
  afterEach(async () => {
    for (const controller of stopping.splice(0)) controller.abort();
    await plane.close();
  });

  const maps = () => plane.clientFor("root").resource(kinds.configMaps);
  const create = (name: string) => maps().create({ metadata: { name, namespace } });

  function follow(
    transport: (inner: Transport) => Transport = (inner) => inner,
    options: Partial<LiveTableOptions> = {},
  ) {
    const { transport: inner, basePath } = plane.clientFor("root");
    const client = new Client({ transport: transport(inner), basePath });
    const table = new LiveTable({
      client,
      resource: kinds.configMaps,
      selector: { namespace, fieldSelector: "metadata.name!=kube-root-ca.crt" },
      pageSize: 3,
      ...options,
      onChange: () => undefined,
    });
    const controller = new AbortController();
    stopping.push(controller);
    const done = table.run(controller.signal);
    return { table, done };
  }
  const names = (table: LiveTable) => table.rows.map(({ metadata }) => metadata.name).join(" ");
  const shows = (table: LiveTable, text: string) =>
    eventually(() => assert.equal(names(table), text));

  it("loads all pages and whole objects where both are wanted", async () => {
    for (const name of ["a", "b", "c", "d"]) await create(name);
    const { table } = follow((inner) => inner, { loadsAll: true, includeObject: "Object" });
    await shows(table, "a b c d");
    await eventually(() => assert.equal(table.health.isWatching, true));
    await maps().patch({ namespace, name: "d" }, { type: "merge", patch: { data: { x: "1" } } });
    await eventually(() =>
      assert.deepEqual((table.rows[3]?.object as ConfigMap | undefined)?.data, { x: "1" }),
    );
    assert.equal(table.remaining, 0);
  });

  it("loads pages on request, and changes on pages that are not loaded are not lost", async () => {
    for (const name of ["a", "b", "c", "d", "e", "f", "g", "h"]) await create(name);
    const { table } = follow();
    await shows(table, "a b c");
    await eventually(() => assert.equal(table.health.isWatching, true));
    assert.ok(table.remaining > 0);
    // Behind the loaded page: one is changed, one deleted, one created; in front: one created.
    const patch = { data: { a: "1" } };
    await maps().patch({ namespace, name: "d" }, { type: "merge", patch });
    await maps().delete({ namespace, name: "e" });
    await create("dd");
    await create("ab");
    await shows(table, "a ab b c");
    await table.loadMore();
    await shows(table, "a ab b c d dd f");
    assert.equal(table.rows.find(({ metadata }) => metadata.name === "d")?.cells[1], 1);
    await table.loadMore();
    await shows(table, "a ab b c d dd f g h");
    assert.equal(table.remaining, 0);
    await create("z");
    await shows(table, "a ab b c d dd f g h z");
  });

  it("lists again as much as was loaded when its history is gone", async () => {
    for (const name of ["a", "b", "c", "d", "e", "f", "g", "h"]) await create(name);
    let watches = 0;
    const expiring = (inner: Transport): Transport => ({
      send: async (request: TransportRequest) => {
        const isWatch = request.path.includes("watch=true");
        const response = await inner.send(request);
        if (!isWatch || ++watches > 1) return response;
        const { status } = new StatusError({ code: 410, reason: "Expired", message: "too old" });
        const line = JSON.stringify({ type: "ERROR", object: status });
        const body = {
          text: async () => line,
          async *[Symbol.asyncIterator]() {
            await opened;
            yield Buffer.from(`${line}\n`);
          },
        };
        return { ...response, body };
      },
      close: () => inner.close(),
    });
    let open: () => void = () => undefined;
    const opened = new Promise<void>((resolve) => {
      open = resolve;
    });
    const { table } = follow(expiring);
    await shows(table, "a b c");
    await table.loadMore();
    await shows(table, "a b c d e f");
    await maps().delete({ namespace, name: "b" });
    open();
    await eventually(() => assert.ok(names(table).startsWith("a c d e f")));
    assert.ok(watches >= 1);
  });
});
