/** The connections that are closed when there are too many. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { FakeClock } from "@kcp-ts/testkit";
import { parseOpenFilesLimit } from "../request/file-descriptors.ts";
import { ConnectionTable } from "./connection-table.ts";

const limits = {
  connectionsMax: 8,
  unauthenticatedTimeoutMs: 30_000,
  idleTimeoutMs: 180_000,
  checkIntervalMs: 10_000,
};

function setUp() {
  const clock = new FakeClock();
  const table = new ConnectionTable(clock, limits);
  const ended: string[] = [];
  const open = (name: string, address: string, user?: string, isBusy = false) => {
    const connection = table.add(address, () => ended.push(name));
    if (connection === undefined) return undefined;
    if (user !== undefined) table.markAuthenticated(connection, user);
    connection.isBusy = () => isBusy;
    return connection;
  };
  return { clock, table, ended, open };
}

describe("connections above the limit", () => {
  it("an unauthenticated client above its limit loses its oldest connection, before the limit of all connections is reached", () => {
    const { table, ended, open } = setUp();
    for (let n = 0; n < 6; n++) open(`stranger-${n}`, "1.1.1.1");
    assert.deepEqual(ended, ["stranger-0", "stranger-1", "stranger-2", "stranger-3"]);
    assert.equal(table.size, 2);
  });

  it("connections of unauthenticated clients close first, then idle ones of the user with the most, never busy ones of users with few", () => {
    const { ended, open } = setUp();
    open("watch", "1.1.1.1", "few", true);
    for (let n = 0; n < 5; n++) open(`idle-${n}`, "2.2.2.2", "many");
    for (const address of ["3.3.3.3", "4.4.4.4"]) open(`stranger-${address}`, address);
    for (let n = 0; n < 3; n++) open(`new-${n}`, "5.5.5.5", "new", true);
    assert.deepEqual(ended, ["stranger-3.3.3.3", "stranger-4.4.4.4", "idle-0"]);
  });

  it("a user's busy connections close in favour of a user with fewer, and not of one with as many", () => {
    const { ended, open } = setUp();
    for (let n = 0; n < 8; n++) open(`watch-${n}`, "1.1.1.1", "greedy", true);
    assert.ok(open("first", "2.2.2.2", "modest", true));
    assert.deepEqual(ended, ["watch-0"]);
    const fair = setUp();
    for (let n = 0; n < 8; n++) fair.open(`watch-${n}`, "1.1.1.1", `user-${n}`, true);
    assert.equal(fair.open("one more", "2.2.2.2"), undefined);
    assert.deepEqual(fair.ended, []);
  });
});

describe("idle connections", () => {
  it("close soon without an authenticated request, late with one, and never while a request is in flight", () => {
    const { clock, table, ended, open } = setUp();
    open("stranger", "1.1.1.1");
    open("known", "1.1.1.1", "a");
    open("watch", "1.1.1.1", "a", true);
    clock.advance(30_000);
    assert.deepEqual(ended, []);
    clock.advance(10_000);
    assert.deepEqual(ended, ["stranger"]);
    clock.advance(2 * limits.idleTimeoutMs + 20_000);
    assert.deepEqual(ended, ["stranger", "known"]);
    assert.equal(table.size, 1);
  });

  it("the last idle connection closes, and checks begin again with the next connection", () => {
    const { clock, table, ended, open } = setUp();
    for (const name of ["first", "second"]) {
      open(name, "1.1.1.1");
      clock.advance(40_000);
    }
    assert.deepEqual(ended, ["first", "second"]);
    assert.equal(table.size, 0);
  });
});

describe("the limit of open files", () => {
  it("is read from the limits that the system reports", () => {
    const line = (soft: string) =>
      `Limit   Soft Limit  Hard Limit  Units\nMax open files            ${soft}                4096                 files\n`;
    assert.equal(parseOpenFilesLimit(line("1024")), 1024);
    assert.equal(parseOpenFilesLimit(line("unlimited")), Number.MAX_SAFE_INTEGER);
    assert.equal(parseOpenFilesLimit(""), 4096);
  });
});
