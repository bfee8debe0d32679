import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { describe, it } from "node:test";
import { promisify } from "node:util";
import { programPath } from "./child.ts";
import { parseH2load } from "./load.ts";
import { groups, parseOptions } from "./options.ts";
import type { ReportedRow } from "./report.ts";

const run = promisify(execFile);

describe("the benchmark", () => {
  it("has a number in every row of every group", async () => {
    const { stdout } = await run(process.execPath, [
      programPath("main"),
      ...["--quick", "--generator", "node", "-o", "json"],
    ]);
    const { rows } = JSON.parse(stdout) as { rows: ReportedRow[] };
    for (const row of rows) {
      assert.ok(Number.isFinite(row.figure), JSON.stringify(row));
      if (row.against !== undefined) assert.ok(Number.isFinite(row.against.ratio), row.work);
    }
    const works = rows.map(({ work }) => work).join("\n");
    for (const part of ["get, 64", "create of 1 KB", "1 in flight", "page of", "by label"])
      assert.ok(works.includes(part), `${part} in\n${works}`);
    for (const part of ["HTTP/1.1", "HTTP/2", "kill -9", "in process", "idle cluster", "is gone"])
      assert.ok(works.includes(part), `${part} in\n${works}`);
    for (const part of [
      "Ready, flat",
      "Ready, in a tree",
      "deleted",
      "restart",
      "metric series",
      "may they",
    ])
      assert.ok(works.includes(part), `${part} in\n${works}`);
  });

  it("takes the groups that exist and refuses others", () => {
    assert.deepEqual(parseOptions(["--only", groups.join(",")]).only, groups);
    assert.throws(() => parseOptions(["--only", "get,gte"]), /--only takes some of/);
  });

  it("takes targets by name, address and token", () => {
    const { targets } = parseOptions(["--target", "kube=https://127.0.0.1:6443/,abc"]);
    assert.deepEqual(targets, [{ name: "kube", url: "https://127.0.0.1:6443", token: "abc" }]);
    assert.throws(() => parseOptions(["--target", "kube"]), /--target takes/);
  });
});

describe("parseH2load", () => {
  const load = { url: "https://x/", token: "", requests: 10, connections: 1, streams: 1 };
  const output = (ok: number) =>
    `finished in 10.01ms, 999.12 req/s, 1.0MB/s\nstatus codes: ${ok} 2xx, 0 3xx, ${10 - ok} 4xx, 0 5xx\n`;

  it("reads the rate", () => {
    assert.equal(parseH2load(output(10), load), 999.12);
  });

  it("takes no rate when a request was refused", () => {
    assert.throws(() => parseH2load(output(9), load), /9 2xx, 0 3xx, 1 4xx/);
  });
});
