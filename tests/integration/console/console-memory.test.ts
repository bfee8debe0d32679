/**
 * The memory of pages that are watched for long. `SOAK_HOURS=1` is an hour of the clock; otherwise
 * the changes follow each other as fast as the page shows them.
 */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { sleep, systemClock } from "@kcp-ts/machinery/base";
import * as kinds from "@kcp-ts/sdk/kinds";
import type { Page } from "playwright-core";
import { browserMissing, ConsoleEnvironment, namespace } from "./console-environment.ts";
import { heapBytes, nodesOf } from "./page-measures.ts";

const hours = Number(process.env["SOAK_HOURS"] ?? 0);
const samples = hours > 0 ? 30 : 12;
/** The first samples are those of caches that fill, and of code that is compiled. */
const warmUp = 3;
const changesPerSample = hours > 0 ? Math.round((hours * 3_600_000) / samples / 100) * 6 : 2500;
/**
 * What a change may leave behind. A row that is kept has hundreds of bytes; code that is compiled
 * and garbage that is collected late are a few of them in a short run.
 */
const leftBytesMax = hours > 0 ? 10 : 50;

describe("pages of the console that are watched for long", { skip: browserMissing }, () => {
  let environment: ConsoleEnvironment;
  const rows = 1000;
  const nameOf = (at: number) => `row-${String(at).padStart(4, "0")}`;
  const maps = () => environment.client.resource(kinds.configMaps);

  before(async () => {
    environment = await ConsoleEnvironment.open();
    for (let at = 0; at < rows; at += 200)
      await Promise.all(
        Array.from({ length: 200 }, (_, more) =>
          maps().create({ metadata: { name: nameOf(at + more), namespace } }),
        ),
      );
  });
  after(() => environment.close());

  it("keep none of the changes that they have shown", async (test) => {
    const list = await environment.page("c/root/list/configmaps?ns=default");
    const object = await environment.page("c/root/object/configmaps/default/row-0000");
    await object.getByRole("heading", { level: 1, name: /row-0000/ }).waitFor();
    const pages = await Promise.all(
      [list, object].map(async (page) => {
        const session = await page.context().newCDPSession(page);
        await session.send("Performance.enable");
        return { session, heap: [] as number[] };
      }),
    );
    const nodes: number[] = [];
    for (let sample = 0; sample < samples; sample++) {
      await changeRows(sample);
      await shown(list, sample);
      for (const { session, heap } of pages) heap.push(await heapBytes(session));
      nodes.push(await nodesOf(pages[0]?.session as never));
      if (hours > 0)
        test.diagnostic(
          `${new Date().toISOString()} ${JSON.stringify(pages.map(({ heap }) => heap.at(-1)))}`,
        );
    }
    for (const [at, { heap }] of pages.entries()) {
      const steady = heap.slice(warmUp);
      const perChange = slopeOf(steady) / changesPerSample;
      const page = at === 0 ? "list" : "object";
      test.diagnostic(
        `${page}: ${samples * changesPerSample} changes, ${Math.min(...steady)} to ${Math.max(...steady)} bytes of heap, ${perChange.toFixed(2)} bytes a change; ${JSON.stringify(heap)}; nodes ${JSON.stringify(nodes)}`,
      );
      assert.ok(perChange < leftBytesMax, `${page}: each change leaves ${perChange} bytes`);
    }
    assert.ok(Math.max(...nodes) < 20_000, `${nodes} nodes`);
    assert.deepEqual(environment.problems, []);
  });

  /** Mostly updates; every tenth change is a new row, and the end of an old one. */
  async function changeRows(sample: number): Promise<void> {
    const lanes = 50;
    const startedAt = systemClock.monotonic();
    const change = async (at: number) => {
      const value = `${sample} ${at}`;
      if (at % 10 === 0) {
        await maps().create({
          metadata: { name: `row-0500-${at % 100}-${sample}-${at}`, namespace },
        });
        await maps().delete({ name: `row-0500-${at % 100}-${sample}-${at}`, namespace });
        return;
      }
      const name = nameOf(at % 7 === 0 ? 0 : at % rows);
      await maps().patch({ name, namespace }, { type: "merge", patch: { data: { value } } });
    };
    for (let at = 0; at < changesPerSample; at += lanes) {
      if (hours > 0) {
        const dueMs = (at / changesPerSample) * ((hours * 3_600_000) / samples);
        await sleep(systemClock, Math.max(0, startedAt + dueMs - systemClock.monotonic()));
      }
      const count = Math.min(lanes, changesPerSample - at);
      await Promise.all(Array.from({ length: count }, (_, more) => change(at + more)));
    }
  }

  /** All changes before this one have arrived, too. */
  async function shown(page: Page, sample: number): Promise<void> {
    await maps().create({ metadata: { name: `a-${sample}`, namespace } });
    await page.getByRole("link", { name: `a-${sample}`, exact: true }).waitFor();
    await maps().delete({ name: `a-${sample}`, namespace });
    await page
      .getByRole("link", { name: `a-${sample}`, exact: true })
      .waitFor({ state: "detached" });
  }
});

/** Of the line through evenly spaced values that has the least squares. */
function slopeOf(values: readonly number[]): number {
  const middle = (values.length - 1) / 2;
  const mean = values.reduce((sum, one) => sum + one, 0) / values.length;
  const product = values.reduce((sum, one, at) => sum + (at - middle) * (one - mean), 0);
  return product / values.reduce((sum, _, at) => sum + (at - middle) ** 2, 0);
}
