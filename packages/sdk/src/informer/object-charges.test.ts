import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { IndexedStore } from "./store.ts";

function accountOf(max: number) {
  const account = {
    held: 0,
    tryTake(bytes: number) {
      if (account.held + bytes > max) return false;
      account.held += bytes;
      return true;
    },
    release(bytes: number) {
      account.held -= bytes;
      assert.ok(account.held >= 0);
    },
  };
  return account;
}

const object = (characters: number) => ({ text: "x".repeat(characters) });

describe("a store with an account of memory", () => {
  for (const liveMax of [Infinity, 0]) {
    const form = liveMax === 0 ? "packed" : "live";
    it(`takes ${form} objects from it, and gives them back when they change or go`, () => {
      const account = accountOf(10_000);
      const store = new IndexedStore<{ text: string }>(liveMax, account);
      store.put("a|/x", object(1000), undefined);
      store.put("a|/y", object(2000), undefined);
      const both = account.held;
      assert.ok(both > 3000 && both < 3500, `${both}`);
      store.put("a|/y", object(100), store.peek("a|/y"));
      assert.ok(account.held < 1500);
      assert.throws(() => store.put("a|/z", object(20_000), undefined), /more memory/);
      assert.throws(() => store.put("a|/x", object(20_000), store.peek("a|/x")), /more memory/);
      assert.equal(store.peek("a|/x")?.text.length, 1000);
      store.remove("a|/x");
      store.remove("a|/y");
      assert.equal(account.held, 0);
    });
  }

  it("counts an object once that the next state has in common with the current one", () => {
    const account = accountOf(10_000);
    const store = new IndexedStore<{ text: string }>(Infinity, account);
    store.put("a|/x", object(4000), undefined);
    store.put("a|/gone", object(4000), undefined);
    const next = store.nextTable();
    store.carryOver("a|/x", next);
    next.set("a|/new", object(1000));
    store.replace(next);
    assert.ok(account.held > 5000 && account.held < 5500, `${account.held}`);
    next.charges?.discard();
    assert.ok(account.held > 5000, "the state is the current one");
    store.releaseMemory();
    assert.equal(account.held, 0);
  });

  it("has the same charges after a state that was not reached, however often", () => {
    const account = accountOf(100_000);
    const store = new IndexedStore<{ text: string }>(Infinity, account);
    for (let i = 0; i < 10; i++) store.put(`a|/${i}`, object(4000), undefined);
    const before = account.held;
    for (let attempt = 0; attempt < 5; attempt++) {
      const next = store.nextTable();
      for (let i = 0; i < 10; i++) store.carryOver(`a|/${i}`, next);
      // Changes of an object after it was taken over.
      next.set("a|/0", object(1));
      next.delete("a|/1");
      next.set("a|/2", object(1));
      store.carryOver("a|/2", next);
      next.charges?.discard();
      assert.equal(account.held, before);
    }
    store.releaseMemory();
    assert.equal(account.held, 0);
  });
});
