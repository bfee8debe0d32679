import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { columnWidth, looksWrong, selectRows } from "./table-rows.ts";

const columns = [
  { name: "Name", type: "string" },
  { name: "Ready", type: "string" },
  { name: "Status", type: "string" },
  { name: "Restarts", type: "integer" },
  { name: "Age", type: "string" },
];
const row = (name: string, ready: string, status: string, restarts: number, day: string) => ({
  key: `//${name}`,
  cells: [name, ready, status, restarts, "1d"],
  metadata: { name, creationTimestamp: `2026-01-${day}T00:00:00Z` },
});
const rows = [
  row("a-10", "1/1", "Running", 10, "01"),
  row("a-2", "0/1", "CrashLoopBackOff", 2, "03"),
  row("b", "1/1", "Completed", 0, "02"),
];
const names = (query: object) => selectRows(columns, rows, query).map((one) => one.metadata.name);

describe("rows of a list", () => {
  it("are wrong when a state or a ratio is", () => {
    assert.deepEqual(
      rows.map(({ cells }) => looksWrong(columns, cells)),
      [false, true, false],
    );
    assert.deepEqual(names({ wrong: "true" }), ["a-2"]);
  });

  it("are wrong when less is there than is desired, or an Event warns, and not by a reason", () => {
    const wrong = (cells: Readonly<Record<string, string | number>>) =>
      looksWrong(
        Object.keys(cells).map((name) => ({ name, type: "string" })),
        Object.values(cells),
      );
    const reason = { Reason: "PartiallyScheduled" };
    assert.equal(wrong({ Desired: 8, Scheduled: 8, Ready: 7, ...reason }), true);
    assert.equal(wrong({ Desired: 8, Scheduled: 8, Ready: "" }), true);
    assert.equal(
      wrong({ Desired: 8, Scheduled: 8, Ready: 8, Reason: "AllReplicasScheduled" }),
      false,
    );
    assert.equal(wrong({ Ready: "True", Status: "Ready", Reason: "ClusterReady" }), false);
    assert.equal(wrong({ Ready: "False", Status: "Unreachable" }), true);
    assert.equal(wrong({ Type: "Warning", Reason: "BackOff" }), true);
    assert.equal(wrong({ Type: "Normal", Reason: "Created" }), false);
  });

  it("are found by name and sorted as people count, ages by time", () => {
    assert.deepEqual(names({ name: "a" }), ["a-10", "a-2"]);
    assert.deepEqual(names({ sort: "Name" }), ["a-2", "a-10", "b"]);
    assert.deepEqual(names({ sort: "-Restarts" }), ["a-10", "a-2", "b"]);
    assert.deepEqual(names({ sort: "Age" }), ["a-2", "b", "a-10"]);
  });

  it("are in one order, whatever was shown before", () => {
    const equal = ["c", "a", "b"].map((name) => row(name, "1/1", "Running", 0, "01"));
    const sorted = ["a", "b", "c"];
    for (const before of [[], equal, equal.slice(1), [...equal, row("gone", "", "", 0, "01")]])
      assert.deepEqual(
        selectRows(columns, equal, { sort: "-Status" }, before).map(({ cells }) => cells[0]),
        sorted,
      );
    const [changed] = selectRows(columns, [row("a", "0/1", "", 1, "01")], { sort: "Name" }, equal);
    assert.equal(changed?.cells[1], "0/1", "the row as it is now");
  });

  it("columns are as wide as what they hold, within bounds", () => {
    assert.equal(columnWidth("Status", 2, rows), 18);
    assert.equal(columnWidth("x", 0, [row("n".repeat(9999), "", "", 0, "01")]), 50);
  });
});
