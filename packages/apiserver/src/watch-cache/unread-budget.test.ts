/** What clients do not read is counted once for all who share it, and those who stand still longest pay for it. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { type UnreadAccount, UnreadBudget } from "./unread-budget.ts";

const kilobyte = () => Buffer.alloc(1024);
const limits = { bytesPerTenantMax: 4096, bytesMax: 8192 };

/** A watch that holds what it is given until it is ended or cut. */
class Holder {
  readonly account: UnreadAccount;
  readonly held: Buffer[] = [];
  readonly told: string[] = [];

  constructor(budget: UnreadBudget, tenant: string, releasesOn: "onEvict" | "onCut" = "onEvict") {
    this.account = budget.account(tenant);
    for (const how of ["onEvict", "onCut"] as const)
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

describe("the budget of what is not read", () => {
  it("counts memory that many watches hold once, and until the last of them has read it", () => {
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

  it("ends the watch of a tenant that has made no progress for longest, and no other", () => {
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

  it("cuts what is on its way to those who do not read, when ending is not enough", () => {
    const budget = new UnreadBudget(limits);
    const stuck = Array.from({ length: 8 }, () => new Holder(budget, "a", "onCut"));
    for (const holder of stuck) holder.hold();
    assert.ok(budget.bytesOf("a") <= limits.bytesPerTenantMax);
    assert.deepEqual(stuck[0]?.told, ["onEvict", "onCut"]);
    assert.deepEqual(stuck[7]?.told.includes("onCut"), false);
  });

  it("takes from the tenant that holds most when all together hold too much", () => {
    const budget = new UnreadBudget({ bytesPerTenantMax: 6144, bytesMax: 8192 });
    const greedy = new Holder(budget, "greedy");
    const modest = Array.from({ length: 4 }, (_, at) => new Holder(budget, `m${at}`));
    for (let n = 0; n < 6; n++) greedy.hold();
    for (const holder of modest) holder.hold();
    assert.deepEqual(greedy.told, ["onEvict"]);
    for (const holder of modest) assert.deepEqual(holder.told, []);
    assert.ok(budget.bytes <= 8192);
  });

  it("counts copies beside what is shared", () => {
    const budget = new UnreadBudget(limits);
    const account = budget.account("a");
    account.holdCopy(100);
    account.hold(kilobyte());
    account.releaseCopy(100);
    assert.equal(budget.bytes, 1024);
    assert.equal(budget.size, 1);
  });
});
