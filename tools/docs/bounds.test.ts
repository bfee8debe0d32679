/**
 * docs/internals/bounds.md has a row for each limit of the table and no other, and names files that
 * exist.
 */
import assert from "node:assert/strict";
import { readdir, readFile } from "node:fs/promises";
import { describe, it } from "node:test";
import { type Bound, bounds, bytesInFlight, workBounds } from "@kcp-ts/machinery/bounds";

const page = await readFile(new URL("../../../docs/internals/bounds.md", import.meta.url), "utf8");

const amount = (most: number) => (Number.isFinite(most) ? most.toLocaleString("en-US") : "any");
const bytes = (most: number) =>
  most % (1 << 20) === 0 ? `${most / (1 << 20)} MiB` : `${most / (1 << 10)} KiB`;

function rowOf(key: string, { sender, ...bound }: Bound): string {
  const { bytesMax, valuesMax, membersMax, depthMax } = bound;
  const most = [valuesMax, membersMax, depthMax].map(amount).join(" | ");
  return `| \`${key}\` | ${sender} | ${bytes(bytesMax)} | ${most} |`;
}

describe("the page of bounds", () => {
  const expected = [
    ...Object.entries(bounds).map(([key, bound]) => rowOf(key, bound)),
    ...Object.entries(workBounds).map(
      ([key, { sender, unitsMax }]) => `| \`${key}\` | ${sender} | ${amount(unitsMax)} |`,
    ),
    ...Object.entries(bytesInFlight).map(
      ([key, { bytesPerTenantMax, bytesMax }]) =>
        `| \`${key}\` | ${bytes(bytesPerTenantMax)} | ${bytes(bytesMax)} |`,
    ),
  ];
  for (const row of expected)
    it(`has the row ${row}`, () => {
      assert.ok(
        page.split("\n").some((line) => line.startsWith(row)),
        `docs/internals/bounds.md lacks it:\n${row}`,
      );
    });

  it("has no row of a bound that is not in the table", () => {
    const named = [...page.matchAll(/^\| `(\w+)` \|/gm)].map(([, name]) => name);
    const known = [bounds, workBounds, bytesInFlight].flatMap((table) => Object.keys(table));
    assert.deepEqual(
      named.filter((name) => !known.includes(name as string)),
      [],
    );
    assert.equal(new Set(named).size, named.length, "each stands there once");
  });

  it("names files that exist", async () => {
    const root = new URL("../../../", import.meta.url);
    const files: string[] = [];
    for (const folder of ["packages", "tools"]) {
      const entries = await readdir(new URL(folder, root), { recursive: true });
      files.push(...entries.map((path) => `/${folder}/${path.replace("/src/", "/")}`));
    }
    const named = [...page.matchAll(/`([\w/-]+\.ts)`/g)].map(([, path]) => path as string);
    assert.ok(named.length > 0);
    assert.deepEqual(
      named.filter((path) => !files.some((file) => file.endsWith(`/${path}`))),
      [],
    );
  });
});
