/**
 * Unread memory is counted once for all watches that share it, and the watches without progress for
 * longest are evicted.
 */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { type UnreadAccount, UnreadBudget } from "./unread-budget.ts";

const kilobyte = () => Buffer.alloc(1024);
const limits = { bytesPerTenantMax: 4096, bytesMax: 8192 };

/** A watch that holds its events until it is ended or reset. */
class Holder {
  readonly account: UnreadAccount;
  readonly held: Buffer[] = [];
  readonly told: string[] = [];

  constructor(budget: UnreadBudget, tenant: string, releasesOn: "onEvict" | "onReset" = "onEvict") {
    this.account = budget.account(tenant);
    for (const how of ["onEvict", "onReset"] as const)
      this.account[how] = () => {
        this.told.push(how);
        if (how === releasesOn) this.read();
      };
  }

  hold(part = kilobyte()): void {
    this.held.push(part);
    this.account.hold(part);
  }

  read(): void {
    for (const part of this.held.splice(0)) this.account.release(part);
  }
}

describe("the budget of unread memory", () => {
  it("counts memory that many watches share once, and until the last of them has read it", () => {
    const budget = new UnreadBudget(limits);
    const shared = kilobyte();
    const holders = Array.from({ length: 1000 }, () => new Holder(budget, "a"));
    for (const holder of holders) holder.hold(shared);
    assert.equal(budget.bytes, 1024);
    for (const holder of holders.slice(1)) holder.read();
    assert.equal(budget.bytes, 1024);
    holders[0]?.read();
    assert.deepEqual([budget.bytes, budget.size], [0, 0]);
  });

  it("ends the watch of a tenant without progress for longest, and no other", () => {
    const budget = new UnreadBudget(limits);
    const [slow, quick, other] = ["a", "a", "b"].map((tenant) => new Holder(budget, tenant)) as [
      Holder,
      Holder,
      Holder,
    ];
    slow.hold();
    slow.hold();
    for (let n = 0; n < 20; n++) {
      quick.hold();
      quick.read();
    }
    other.hold();
    for (let n = 0; n < 3; n++) quick.hold();
    assert.deepEqual([slow.told, quick.told, other.told], [["onEvict"], [], []]);
    assert.ok(budget.bytesOf("a") <= limits.bytesPerTenantMax);
  });

  it("resets streams with queued bytes that are not read, when ending watches does not suffice", () => {
    const budget = new UnreadBudget(limits);
    const stuck = Array.from({ length: 8 }, () => new Holder(budget, "a", "onReset"));
    for (const holder of stuck) holder.hold();
    assert.ok(budget.bytesOf("a") <= limits.bytesPerTenantMax);
    assert.deepEqual(stuck[0]?.told, ["onEvict", "onReset"]);
    assert.deepEqual(stuck[7]?.told.includes("onReset"), false);
  });

  it("evicts from the tenant with the most memory when all together hold too much", () => {
    const budget = new UnreadBudget({ bytesPerTenantMax: 6144, bytesMax: 8192 });
    const greedy = new Holder(budget, "greedy");
    const modest = Array.from({ length: 4 }, (_, at) => new Holder(budget, `m${at}`));
    for (let n = 0; n < 6; n++) greedy.hold();
    for (const holder of modest) holder.hold();
    assert.deepEqual(greedy.told, ["onEvict"]);
    for (const holder of modest) assert.deepEqual(holder.told, []);
    assert.ok(budget.bytes <= 8192);
  });

  it("counts copies in addition to shared memory", () => {
    const budget = new UnreadBudget(limits);
    const account = budget.account("a");
    account.holdCopy(100);
    account.hold(kilobyte());
    account.releaseCopy(100);
    assert.equal(budget.bytes, 1024);
    assert.equal(budget.size, 1);
  });
});
